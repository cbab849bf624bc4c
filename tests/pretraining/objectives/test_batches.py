"""Batches: pure in (seed, step), token budgets, layouts, static and dynamic masks."""

from typing import Any, Literal

import numpy as np
import pytest

from harness.data.corpora.packing import Packing, Sequences
from harness.data.corpora.token_stream import TokenStream
from harness.pretraining.budget import Phase
from harness.pretraining.objectives.batches import BatchMaker
from harness.pretraining.objectives.held_out import held_out_batches, pair_batches
from harness.pretraining.objectives.layout import Layout
from harness.pretraining.objectives.micro_batches import split
from harness.pretraining.objectives.objective import Objective
from harness.pretraining.objectives.targets import Batch, count_real
from harness.pretraining.objectives.transforms.masking import TokenMasking
from harness.pretraining.objectives.vocabulary import Vocabulary

FORMATS = ("segment_pair", "sentence_pair", "full_sentences", "doc_sentences")
VOCAB = 500


def make_vocabulary(**changes: Any) -> Vocabulary:
    special, starts = np.arange(VOCAB) < 5, np.arange(VOCAB) % 4 != 0
    return Vocabulary(VOCAB, 0, 2, 3, 4, special, starts, **changes)


def make_stream(seed: int = 0, num_documents: int = 60) -> TokenStream:
    rng = np.random.default_rng(seed)
    documents = np.concatenate([[0], np.cumsum(rng.integers(2, 10, num_documents))])
    sentences = np.concatenate([[0], np.cumsum(rng.integers(3, 12, documents[-1]))])
    tokens = rng.integers(5, VOCAB, sentences[-1]).astype(np.uint16)
    return TokenStream(tokens, sentences, documents)


def make_maker(
    packing_format: str = "full_sentences",
    seed: int = 0,
    num_steps: int = 400,
    order: Literal["sequential"] | None = None,
    **objective: Any,
) -> BatchMaker:
    phases = (Phase(fraction=0.75, sequence_length=32), Phase(fraction=0.25, sequence_length=64))
    packing = Packing(format=packing_format, short_seq_prob=0.1, order=order)
    return BatchMaker(
        make_stream(),
        make_vocabulary(),
        Objective(**objective),
        packing,
        phases,
        4,
        seed,
        num_steps,
    )


def restore(batch: Batch) -> np.ndarray:
    """The tokens under the masks."""
    tokens = batch["input_ids"].copy()
    tokens.reshape(-1)[batch["positions"]] = batch["targets"]
    return tokens


def same(one: Batch, two: Batch) -> bool:
    return one.keys() == two.keys() and all(np.array_equal(one[name], two[name]) for name in one)


@pytest.mark.parametrize("packing_format", FORMATS)
@pytest.mark.parametrize("masking", ["static", "dynamic"])
@pytest.mark.parametrize("whole_word", [False, True])
def test_a_batch_is_a_function_of_seed_and_step(
    packing_format: str, masking: str, whole_word: bool
) -> None:
    transform = TokenMasking(whole_word=whole_word)
    maker = make_maker(packing_format, masking=masking, transform=transform)
    fresh = make_maker(packing_format, masking=masking, transform=transform)
    later = [maker.batch(step) for step in (0, 1, 17, 301, 399)]
    for step, batch in zip((399, 301, 17, 1, 0), reversed(later), strict=True):
        assert same(batch, fresh.batch(step)), "in any order"
    assert not same(later[0], later[1])
    assert not same(make_maker(packing_format, seed=1, masking=masking).batch(0), later[0])


@pytest.mark.parametrize("packing_format", FORMATS)
def test_batches_hold_as_many_tokens_in_every_format(packing_format: str) -> None:
    maker = make_maker(packing_format, sentence_pair="none")
    counts = [count_real(maker.batch(step)) for step in range(300)]
    assert abs(np.mean(counts) - 4 * 32) < 3
    assert max(abs(np.array(counts) - 4 * 32)) < 32


def test_an_epoch_reads_every_sequence_once_but_for_its_tail() -> None:
    maker = make_maker()
    drawing = maker.drawing((0, 0), "none")
    size = drawing.num_batches(4 * 32)
    seen = np.concatenate([maker.batch(step)["input_ids"][:, 0] for step in range(size)])
    assert len(drawing.sequences) - 6 <= len(seen) <= len(drawing.sequences)
    rows = {tuple(row) for step in range(size) for row in restore(maker.batch(step))[:, :20]}
    assert len(rows) == len(seen)


@pytest.mark.parametrize("packing_format", ["segment_pair", "full_sentences"])
@pytest.mark.parametrize("masking", ["static", "dynamic"])
def test_a_late_batch_is_found_without_all_epochs_before(
    packing_format: str, masking: Literal["static", "dynamic"]
) -> None:
    """Epochs with the drawings of earlier ones are skipped, but counted."""
    maker = make_maker(packing_format, num_steps=10**8, masking=masking, dupe_factor=3)
    random = masking == "static" or packing_format == "segment_pair"
    sizes = [
        maker.drawing((0, epoch % 3 if random else 0), "none").num_batches(4 * 32)
        for epoch in range(40)
    ]
    ends = np.cumsum(sizes)
    assert (len(set(sizes)) > 1) == (packing_format == "segment_pair")
    for step in range(0, ends[-1], 7):
        epoch = int(np.searchsorted(ends, step, side="right"))
        place = maker._place(0, step, "none")
        assert place == (epoch, 0, step - (ends[epoch - 1] if epoch else 0))
    assert maker.batch(10**7)["targets"].size  # as quickly as the first


def first_tokens(maker: BatchMaker, steps: range) -> list[int]:
    """The offset of the first token of each sequence, as the stream of this test has each once."""
    rows = [row for step in steps for row in restore(maker.batch(step))]
    return [int(row[1]) for row in rows]


def counted_stream(num_tokens: int) -> TokenStream:
    """Tokens that are their own offsets, in sentences of 10 and documents of 50."""
    edges = np.arange(0, num_tokens + 1, 10)
    return TokenStream(np.arange(5, num_tokens + 5), edges, np.arange(0, len(edges), 5))


def sharded_maker(monkeypatch: pytest.MonkeyPatch, **packing: Any) -> BatchMaker:
    """Batches of 4 x 32 of 40,000 tokens in 5 shards of about 8 blocks."""
    monkeypatch.setattr("harness.data.corpora.shards.SHARD_TOKENS", 8_000)
    monkeypatch.setattr("harness.data.corpora.shards.BLOCK_TOKENS", 1_000)
    special = np.arange(40_005) < 5
    vocabulary = Vocabulary(40_005, 0, 2, 3, 4, special, ~special)
    phases = (Phase(fraction=1, sequence_length=32),)
    objective = Objective(transform=TokenMasking())
    stream = counted_stream(40_000)
    return BatchMaker(stream, vocabulary, objective, Packing(**packing), phases, 4, 0, 4_000)


@pytest.mark.parametrize("packing_format", FORMATS)
def test_shards_are_read_once_an_epoch_in_a_new_order(
    monkeypatch: pytest.MonkeyPatch, packing_format: str
) -> None:
    maker = sharded_maker(monkeypatch, format=packing_format)
    assert len(maker.shards) == 5
    text = np.sort(np.concatenate([b.sentences[:-1] for shard in maker.shards for b in shard]))
    assert np.array_equal(text, np.arange(0, 40_000, 10)), "every sentence is in one shard"
    sizes = [maker._batches(0, (0, 0, shard), "none") for shard in range(5)]
    firsts = [first_tokens(maker, range(e * sum(sizes), (e + 1) * sum(sizes))) for e in (0, 1)]
    assert firsts[0] != firsts[1]
    if packing_format == "full_sentences":
        assert len(set(firsts[0])) == len(firsts[0]) >= 0.95 * 40_000 / 30
        assert len(set(firsts[0]) & set(firsts[1])) > 0.9 * len(firsts[0])
    spread = first_tokens(maker, range(sizes[maker._shard_order(0, 0)[0]]))
    assert min(spread) < 8_000 and max(spread) > 32_000, "a shard is a sample of all text"
    again = sharded_maker(monkeypatch, format=packing_format)
    for step in (sum(sizes) + 3, 2, sum(sizes) - 1):
        assert same(maker.batch(step), again.batch(step)), "in any order"


def test_a_sequential_order_follows_the_text_in_each_epoch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    maker = sharded_maker(monkeypatch, order="sequential")
    size = sum(maker._batches(0, (0, 0, shard), "none") for shard in range(len(maker.shards)))
    firsts = first_tokens(maker, range(size))
    assert firsts == sorted(firsts) and max(firsts) > 39_000
    again = first_tokens(maker, range(size, size + 3))
    assert again == firsts[: len(again)]


def test_static_masks_return_with_their_duplicate_in_shards(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("harness.data.corpora.shards.SHARD_TOKENS", 800)
    monkeypatch.setattr("harness.data.corpora.shards.BLOCK_TOKENS", 100)
    maker = make_maker(masking="static", dupe_factor=1)
    num_shards = len(maker.shards)
    assert num_shards > 1
    size = sum(maker._batches(0, (0, 0, shard), "none") for shard in range(num_shards))
    first, second = (masks_by_sequence(maker, range(e * size, (e + 1) * size)) for e in (0, 1))
    assert share_equal(first, second) == pytest.approx(1, abs=0.02)


def test_phases_change_the_length_at_their_share_of_the_updates() -> None:
    maker = make_maker()
    assert maker.batch(299)["input_ids"].shape[1] <= 32
    assert maker.batch(300)["input_ids"].shape[1] > 32
    with pytest.raises(ValueError, match="less than 400"):
        maker.batch(400)


def masks_by_sequence(maker: BatchMaker, steps: range) -> dict[tuple[int, ...], tuple[int, ...]]:
    """Text of each row to its input, for the rows of these batches."""
    masks = {}
    for step in steps:
        batch = maker.batch(step)
        for text, inputs in zip(restore(batch).tolist(), batch["input_ids"].tolist(), strict=True):
            length = np.count_nonzero(text)
            masks[tuple(text[:length])] = tuple(inputs[:length])
    return masks


def share_equal(one: dict[Any, Any], other: dict[Any, Any]) -> float:
    """Share of the texts in both that have the same masks."""
    both = one.keys() & other.keys()
    assert len(both) > 50
    return float(np.mean([one[text] == other[text] for text in both]))


def test_static_masks_return_with_their_duplicate_and_dynamic_ones_do_not() -> None:
    for masking, share in (("static", 1.0), ("dynamic", 0.0)):
        maker = make_maker(masking=masking, dupe_factor=2)
        size = maker.drawing((0, 0), "none").num_batches(4 * 32)
        first, second, third = (
            masks_by_sequence(maker, range(e * size, (e + 1) * size)) for e in range(3)
        )
        assert share_equal(first, third) == pytest.approx(share, abs=0.02)
        assert share_equal(first, second) < 0.02, "another duplicate"


def sequences(*rows: tuple[int, int, int, int]) -> Sequences:
    a_start, a_end, b_start, b_end = np.array(rows, dtype=np.int64).T
    return Sequences(a_start, a_end, b_start, b_end, np.zeros_like(a_start))


SMALL = TokenStream(np.arange(5, 25), np.array([0, 3, 5, 9, 20]), np.array([0, 2, 3, 4]))
"""Documents with tokens 5..9, 10..13 and 14..24."""


def test_layout_of_bert_by_hand() -> None:
    rows = Layout(SMALL, make_vocabulary()).rows(sequences((0, 3, 5, 7), (1, 2, 0, 0)))
    assert rows.tokens.tolist() == [[2, 5, 6, 7, 3, 10, 11, 3], [2, 6, 3, 0, 0, 0, 0, 0]]
    assert rows.types.tolist() == [[0, 0, 0, 0, 0, 1, 1, 1], [0] * 8]
    assert (rows.maskable == (rows.tokens > 4)).all()
    assert rows.lengths.tolist() == [8, 3]


def test_layout_of_roberta_by_hand() -> None:
    layout = Layout(SMALL, make_vocabulary(separators_between=2, second_type=0))
    rows = layout.rows(sequences((0, 2, 5, 7)))
    assert rows.tokens.tolist() == [[2, 5, 6, 3, 3, 10, 11, 3]]
    assert not rows.types.any()


def test_layout_puts_a_separator_between_documents() -> None:
    rows = Layout(SMALL, make_vocabulary()).rows(sequences((3, 11, 0, 0)))
    expected = [2, 8, 9, 3, 10, 11, 12, 13, 3, 14, 15, 3, 0, 0, 0, 0]
    assert rows.tokens.tolist() == [expected]
    assert rows.lengths.tolist() == [12]


def test_layout_agrees_with_the_tokenizer(tmp_path: Any) -> None:
    """Fine-tuning encodes pairs by the tokenizer's own template; pretraining must see the same."""
    from transformers import PreTrainedTokenizerFast

    from harness.data.tokenizers import Tokenizer
    from harness.data.tokenizers.schemes import SCHEMES
    from harness.data.tokenizers.training import train

    texts = ["the cat sat", "a dog ran off", "the dog sat"] * 30
    for algorithm in SCHEMES:
        settings = Tokenizer.model_validate({"algorithm": algorithm, "vocab_size": 300})
        train(settings, iter(texts), tmp_path / algorithm)
        tokenizer = PreTrainedTokenizerFast.from_pretrained(tmp_path / algorithm)
        parts = [tokenizer(text, add_special_tokens=False)["input_ids"] for text in texts[:2]]
        stream = TokenStream(
            np.array(parts[0] + parts[1]), np.cumsum([0, *map(len, parts)]), np.array([0, 2])
        )
        a = len(parts[0])
        row = Layout(stream, Vocabulary.load(tmp_path / algorithm)).rows(
            sequences((0, a, a, a + len(parts[1])))
        )
        pair = tokenizer(*texts[:2], return_token_type_ids=True)
        length = int(row.lengths[0])
        assert row.tokens[0, :length].tolist() == pair["input_ids"]
        assert row.types[0, :length].tolist() == pair["token_type_ids"]


@pytest.mark.parametrize("pair", ["nsp", "sop"])
def test_pair_labels_only_with_a_pair_loss(pair: str) -> None:
    batch = make_maker("segment_pair", sentence_pair=pair).batch(0)
    assert batch["pair_label"].shape == (len(batch["input_ids"]),)
    assert "pair_label" not in make_maker("segment_pair", sentence_pair="none").batch(0)


@pytest.mark.parametrize(
    ("output", "transform"), [("whole_text", "denoising"), ("dropped_spans", "prefix")]
)
def test_shuffled_sources_are_those_of_other_sequences(output: str, transform: str) -> None:
    fields: dict[str, Any] = {
        "representation": "encoder_decoder",
        "output": output,
        "transform": transform,
    }
    own = make_maker(**fields).batch(3)
    other = make_maker(**fields, shuffled_sources=True).batch(3)
    for name in ("input_ids", "attention_mask"):
        if name in own:
            assert np.array_equal(other.pop(name)[1:], own.pop(name)[:-1])
    assert same(own, other)


def test_a_sequence_alone_has_no_other_source() -> None:
    fields: dict[str, Any] = {
        "representation": "encoder_decoder",
        "output": "whole_text",
        "transform": "denoising",
    }
    maker = make_maker(**fields, shuffled_sources=True)
    maker.batch_size = 1
    with pytest.raises(ValueError, match="needs batches of at least 2 sequences"):
        list(map(maker.batch, range(50)))


def test_only_encoder_decoders_have_sources() -> None:
    with pytest.raises(ValueError, match="shuffled_sources needs representation encoder_decoder"):
        Objective.model_validate({"shuffled_sources": True})


def test_split_keeps_everything() -> None:
    batch = make_maker("segment_pair", sentence_pair="nsp").batch(3)
    parts = split(batch, max_tokens=70)
    assert len(parts) > 1
    for name in ("input_ids", "token_type_ids", "targets", "pair_label"):
        assert np.array_equal(np.concatenate([part[name] for part in parts]), batch[name])
    assert np.array_equal(np.concatenate([restore(part) for part in parts]), restore(batch))


def test_a_text_too_small_for_one_batch_is_refused() -> None:
    maker = BatchMaker(
        make_stream(num_documents=2),
        make_vocabulary(),
        Objective(),
        Packing(),
        (Phase(fraction=1, sequence_length=32),),
        64,
        0,
        10,
    )
    with pytest.raises(ValueError, match="smaller batch_size or more text"):
        maker.batch(0)


def test_evaluation_batches_are_fixed() -> None:
    stream, vocabulary = make_stream(), make_vocabulary()
    one, two = (held_out_batches(stream, vocabulary, Objective(), 512, 0) for _ in range(2))
    assert all(same(x, y) for x, y in zip(one, two, strict=True))
    text = np.concatenate([row[row > 4] for batch in one for row in restore(batch)])
    assert np.array_equal(text, stream.tokens), "the whole text, in order"


def test_evaluation_of_pairs() -> None:
    objective, packing = Objective(sentence_pair="sop"), Packing(format="segment_pair")
    batches = pair_batches(make_stream(), make_vocabulary(), objective, packing, 64)
    labels = np.concatenate([batch["pair_label"] for batch in batches])
    assert 0 < labels.mean() < 1


def test_next_tokens_are_the_same_where_positions_see_them() -> None:
    """The ablation differs from a causal model in what is seen, not in what is predicted."""
    causal, visible = (
        make_maker(
            transform={"kind": "none"},
            representation=representation,
            output={"kind": "next_token"},
        )
        for representation in ("causal", "bidirectional")
    )
    assert same(causal.batch(3), visible.batch(3))
