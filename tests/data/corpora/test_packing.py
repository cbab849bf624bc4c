"""Packing: the four formats against their definitions, and truncation against BERT's own loop."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.data.corpora.packing import PAIR_FORMATS, Packing, Sequences, _truncate, pack
from harness.data.corpora.token_stream import TokenStream

FORMATS = ("segment_pair", "sentence_pair", "full_sentences", "doc_sentences")


def make_stream(documents: list[list[int]]) -> TokenStream:
    """A stream whose documents have sentences of these lengths; token i is number i."""
    lengths = [length for document in documents for length in document]
    return TokenStream(
        np.arange(sum(lengths)),
        np.concatenate([[0], np.cumsum(lengths)]),
        np.concatenate([[0], np.cumsum([len(document) for document in documents])]),
    )


def random_documents(seed: int, num_documents: int = 200) -> list[list[int]]:
    rng = random.Random(seed)
    return [[rng.randint(1, 30) for _ in range(rng.randint(2, 12))] for _ in range(num_documents)]


def document_of(stream: TokenStream, offsets: np.ndarray) -> np.ndarray:
    starts = stream.sentences[stream.documents]
    return np.searchsorted(starts, offsets, side="right")


documents_strategy = st.lists(
    st.lists(st.integers(1, 40), min_size=2, max_size=8), min_size=2, max_size=12
)


@given(documents=documents_strategy, form=st.sampled_from(FORMATS), seed=st.integers(0, 99))
@settings(max_examples=80, deadline=None)
def test_sequences_fit_and_segments_stay_in_their_document(
    documents: list[list[int]], form: str, seed: int
) -> None:
    stream = make_stream(documents)
    packed = pack(
        stream, Packing(format=form, short_seq_prob=0.2), 24, "nsp", np.random.default_rng(seed)
    )
    a, b = packed.a_end - packed.a_start, packed.b_end - packed.b_start
    assert a.min() >= 1
    assert packed.a_start.min() >= 0 and packed.a_end.max() <= stream.num_tokens
    if form in PAIR_FORMATS:
        assert b.min() >= 1
        assert (a + b).max() <= 24 - 3
        inside = document_of(stream, packed.b_start) == document_of(stream, packed.b_end - 1)
        assert inside.all()
    else:
        crossed = document_of(stream, packed.a_end - 1) - document_of(stream, packed.a_start)
        assert (a + crossed).max() <= 24 - 2
        assert not b.any() and not packed.label.any()
    if form != "full_sentences":
        inside = document_of(stream, packed.a_start) == document_of(stream, packed.a_end - 1)
        assert inside.all()


@pytest.mark.parametrize("form", ["full_sentences", "doc_sentences"])
@given(documents=documents_strategy)
@settings(max_examples=50, deadline=None)
def test_single_segments_cover_the_text_once_in_order(
    form: str, documents: list[list[int]]
) -> None:
    stream = make_stream(documents)
    packed = pack(stream, Packing(format=form), 16, "none", np.random.default_rng(0))
    assert packed.a_start[0] == 0 and packed.a_end[-1] == stream.num_tokens
    assert np.array_equal(packed.a_start[1:], packed.a_end[:-1])


def test_full_sentences_by_hand() -> None:
    """Room for 8: [3 + 4], then [5], which with a separator and 3 more would take 9, and so on."""
    stream = make_stream([[3, 4, 5], [3, 2], [20]])
    packed = pack(stream, Packing(format="full_sentences"), 10, "none", np.random.default_rng(0))
    spans = list(zip(packed.a_start.tolist(), packed.a_end.tolist(), strict=True))
    assert spans == [(0, 7), (7, 12), (12, 17), (17, 25), (25, 33), (33, 37)]


def test_full_sentences_pay_for_the_separator_between_documents() -> None:
    stream = make_stream([[4], [3], [4]])
    packed = pack(stream, Packing(format="full_sentences"), 10, "none", np.random.default_rng(0))
    assert packed.a_end.tolist() == [7, 11]  # 4 + separator + 3 fill the room of 8


def test_doc_sentences_by_hand() -> None:
    stream = make_stream([[3, 4, 5], [3, 2]])
    packed = pack(stream, Packing(format="doc_sentences"), 10, "none", np.random.default_rng(0))
    assert packed.a_end.tolist() == [7, 12, 17]


def test_nsp_labels_are_0_where_b_follows_a() -> None:
    stream = make_stream(random_documents(0))
    room = 10_000  # nothing is truncated
    packed = pack(stream, Packing(format="segment_pair"), room, "nsp", np.random.default_rng(0))
    positive = packed.label == 0
    assert np.array_equal(packed.a_end[positive], packed.b_start[positive])
    same = document_of(stream, packed.a_start) == document_of(stream, packed.b_start)
    assert not same[~positive].any()
    assert np.isin(packed.a_start, stream.sentences).all()
    assert np.isin(packed.b_end, stream.sentences).all()


def test_nsp_rate_exceeds_one_half() -> None:
    """A chunk of one sentence is always negative (google-research/bert)."""
    stream = make_stream(random_documents(1, 2000))
    packed = pack(stream, Packing(format="segment_pair"), 64, "nsp", np.random.default_rng(0))
    assert 0.51 < packed.label.mean() < 0.65


def test_unused_sentences_are_put_back() -> None:
    """A negative pair uses up only A: the segments A and the positive B cover the text once."""
    stream = make_stream(random_documents(2))
    packed = pack(stream, Packing(format="segment_pair"), 10_000, "nsp", np.random.default_rng(0))
    end = np.where(packed.label == 0, packed.b_end, packed.a_end)
    assert packed.a_start[0] == 0 and end[-1] == stream.num_tokens
    assert np.array_equal(packed.a_start[1:], end[:-1])


def test_short_targets_come_by_document() -> None:
    stream = make_stream([[5] * 60 for _ in range(500)])
    short = Packing(format="segment_pair", short_seq_prob=0.3)
    packed = pack(stream, short, 128, "nsp", np.random.default_rng(0))
    tokens = packed.a_end - packed.a_start + packed.b_end - packed.b_start
    document = document_of(stream, packed.a_start)
    cut = np.array([tokens[document == d].max() < 110 for d in np.unique(document)])
    assert 0.15 < cut.mean() < 0.4  # 0.3, less the short targets that come close to the full length


def test_sentence_pairs_are_single_sentences() -> None:
    stream = make_stream(random_documents(3))
    packed = pack(stream, Packing(format="sentence_pair"), 128, "nsp", np.random.default_rng(0))
    for start, end in ((packed.a_start, packed.a_end), (packed.b_start, packed.b_end)):
        sentence = np.searchsorted(stream.sentences, start)
        assert np.array_equal(stream.sentences[sentence], start)
        assert np.array_equal(stream.sentences[sentence + 1], end)


@pytest.mark.parametrize("form", PAIR_FORMATS)
def test_sop_segments_are_neighbours_swapped_half_of_the_time(form: str) -> None:
    stream = make_stream(random_documents(4, 2000))
    packed = pack(stream, Packing(format=form), 10_000, "sop", np.random.default_rng(0))
    swapped = packed.label == 1
    assert np.array_equal(packed.a_end[~swapped], packed.b_start[~swapped])
    assert np.array_equal(packed.b_end[swapped], packed.a_start[swapped])
    assert abs(swapped.mean() - 0.5) < 0.04


@pytest.mark.parametrize("form", PAIR_FORMATS)
def test_contiguous_segments_are_neighbours_in_order(form: str) -> None:
    """The chunks of SOP, with none swapped."""
    stream = make_stream(random_documents(4, 2000))
    packed = pack(stream, Packing(format=form), 10_000, "contiguous", np.random.default_rng(0))
    assert np.array_equal(packed.a_end, packed.b_start)
    assert (packed.b_end > packed.b_start).all() and not packed.label.any()
    sop = pack(stream, Packing(format=form), 10_000, "sop", np.random.default_rng(0))
    if form == "sentence_pair":
        assert np.array_equal(packed.a_start, np.minimum(sop.a_start, sop.b_start))


def test_pair_none_draws_the_data_of_nsp() -> None:
    """The format without the loss, as Liu et al. 2019 read BERT's ablation."""
    stream = make_stream(random_documents(5))
    packing = Packing(format="segment_pair", short_seq_prob=0.1)
    nsp = pack(stream, packing, 64, "nsp", np.random.default_rng(7))
    none = pack(stream, packing, 64, "none", np.random.default_rng(7))
    assert all(
        np.array_equal(x, y) for x, y in zip(vars(nsp).values(), vars(none).values(), strict=True)
    )


def truncate_as_bert(a: int, b: int, room: int, rng: random.Random) -> tuple[int, int, int, int]:
    """google-research/bert `truncate_seq_pair` on lengths: cuts of A's front and back, and B's."""
    cuts = [0, 0, 0, 0]
    while a + b > room:
        side = 0 if a > b else 2
        cuts[side + (rng.random() >= 0.5)] += 1
        a, b = (a - 1, b) if side == 0 else (a, b - 1)
    return cuts[0], cuts[1], cuts[2], cuts[3]


@given(a=st.integers(1, 80), b=st.integers(1, 80), room=st.integers(4, 60))
def test_truncation_cuts_each_side_as_much_as_bert(a: int, b: int, room: int) -> None:
    columns = (np.array([0]), np.array([a]), np.array([100]), np.array([100 + b]), np.array([0]))
    cut = _truncate(Sequences(*columns), room, np.random.default_rng(0))
    front_a, back_a, front_b, back_b = truncate_as_bert(a, b, room, random.Random(0))
    assert int(cut.a_end[0] - cut.a_start[0]) == a - front_a - back_a
    assert int(cut.b_end[0] - cut.b_start[0]) == b - front_b - back_b


def test_truncation_cuts_front_and_back_alike() -> None:
    n = 4000
    columns = (np.zeros(n), np.full(n, 50), np.full(n, 100), np.full(n, 130), np.zeros(n))
    cut = _truncate(Sequences(*(c.astype(int) for c in columns)), 40, np.random.default_rng(0))
    oracle = random.Random(0)
    fronts = np.array([truncate_as_bert(50, 30, 40, oracle) for _ in range(n)])
    assert abs(cut.a_start.mean() - fronts[:, 0].mean()) < 0.2
    assert abs((cut.b_start - 100).mean() - fronts[:, 2].mean()) < 0.2
    assert abs(cut.a_start.std() - fronts[:, 0].std()) < 0.15


def test_same_generator_same_sequences() -> None:
    stream = make_stream(random_documents(6))
    packing = Packing(format="segment_pair")
    one, two, other = (
        pack(stream, packing, 64, "nsp", np.random.default_rng(s)) for s in (1, 1, 2)
    )
    assert np.array_equal(one.b_start, two.b_start)
    assert not np.array_equal(one.b_start[:20], other.b_start[:20])


def test_one_document_has_no_random_other() -> None:
    with pytest.raises(ValueError, match="another document"):
        pack(
            make_stream([[4, 4]]),
            Packing(format="segment_pair"),
            32,
            "nsp",
            np.random.default_rng(0),
        )


def test_sop_needs_two_sentences() -> None:
    with pytest.raises(ValueError, match="at least two sentences"):
        pack(
            make_stream([[4], [4]]),
            Packing(format="segment_pair"),
            32,
            "sop",
            np.random.default_rng(0),
        )
