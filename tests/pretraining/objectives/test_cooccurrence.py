"""Counts of co-occurrence against loops and by hand; the order in which they are read."""

from collections import Counter
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from harness.data.corpora.token_stream import TokenStream
from harness.experiment.recipe_defaults import resolve_pretrain
from harness.pretraining.objectives import OBJECTIVES, cooccurrence
from harness.pretraining.objectives.batches import BatchMaker
from harness.pretraining.objectives.cooccurrence import Cells, CellSampler, cooccurrences
from harness.pretraining.objectives.held_out import has_held_out_loss
from harness.pretraining.objectives.outputs import Cooccurrence
from tests.pretraining.objectives.test_conformance import spec_of, stream, vocabulary

SPECIAL = np.arange(12) < 4
GLOVE = OBJECTIVES["glove"]


def of(*documents: list[list[int]]) -> TokenStream:
    """The stream of documents of sentences of tokens."""
    sentences = [sentence for document in documents for sentence in document]
    return TokenStream(
        np.array([token for sentence in sentences for token in sentence], np.uint16),
        np.cumsum([0, *map(len, sentences)]),
        np.cumsum([0, *map(len, documents)]),
    )


def naive(text: TokenStream, window: int) -> np.ndarray:
    """[V, V], by a loop over the pairs of each document."""
    found = np.zeros((len(SPECIAL), len(SPECIAL)))
    ends = text.sentences[text.documents].tolist()
    for first, last in pairwise(ends):
        for i in range(first, last):
            for j in range(first, last):
                one, other = text.tokens[i], text.tokens[j]
                if i != j and abs(i - j) <= window and not SPECIAL[one] and not SPECIAL[other]:
                    found[one, other] += 1 / abs(i - j)
    return found


def test_counts_by_hand() -> None:
    """`5 6 5 | 7`, and `6 3 5` with an unknown word 3: within a document, across its sentences, and
    1/d for a distance of d."""
    found = cooccurrences(of([[5, 6, 5], [7]], [[6, 3, 5]]), SPECIAL, window=2).toarray()
    by_hand = np.zeros((12, 12))
    by_hand[5, 6] = by_hand[6, 5] = 1 + 1 + 1 / 2
    by_hand[5, 5] = 2 * (1 / 2)  # each is in the context of the other
    by_hand[5, 7] = by_hand[7, 5] = 1
    by_hand[6, 7] = by_hand[7, 6] = 1 / 2
    assert np.array_equal(found, by_hand)


@pytest.mark.parametrize("window", [1, 3, 10])
@pytest.mark.parametrize("at_once", [1, 7, 10_000])
def test_counts_are_those_of_a_loop(
    window: int, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(window)
    documents = [
        [rng.integers(2, 12, rng.integers(1, 6)).tolist() for _ in range(rng.integers(1, 5))]
        for _ in range(12)
    ]
    text = of(*documents)
    whole = cooccurrences(text, SPECIAL, window)
    monkeypatch.setattr(cooccurrence, "TOKENS_AT_ONCE", at_once)
    found = cooccurrences(text, SPECIAL, window)
    assert np.array_equal(found.toarray(), whole.toarray()), "whatever is counted together"
    assert np.array_equal(found.toarray(), found.toarray().T)
    np.testing.assert_allclose(found.toarray(), naive(text, window), rtol=1e-12)


@pytest.mark.parametrize("documents", [[], [[[5]], [[6]]], [[[3, 3, 2]]]])
def test_texts_without_pairs_of_words(documents: Any) -> None:
    assert cooccurrences(of(*documents), SPECIAL, 10).nnz == 0


def maker(seed: int = 0, **changes: Any) -> BatchMaker:
    spec = spec_of(GLOVE, **changes)
    return BatchMaker(
        stream(), vocabulary(), GLOVE, spec.packing, spec.phases, spec.batch_size, seed, 60
    )


def test_batches_hold_cells_with_their_counts() -> None:
    counts = cooccurrences(stream(), vocabulary().special, 10).toarray()
    for step in range(5):
        batch = maker().batch(step)
        words = batch["input_ids"].ravel()[batch["positions"]]
        np.testing.assert_allclose(batch["counts"], counts[words, batch["targets"]], rtol=1e-6)
        assert (batch["counts"] > 0).all()
        assert batch["num_tokens"].sum() == len(batch["targets"]) == batch["input_ids"].size


def test_an_epoch_reads_each_cell_once_in_another_order() -> None:
    sampler = CellSampler(100, (0,))
    epochs = [[sampler.sample(0, 11 * epoch + k, 3, 3) for k in range(11)] for epoch in range(3)]
    for epoch in epochs:
        read = Counter(np.concatenate(epoch).ravel().tolist())
        assert len(read) == 99 and set(read.values()) == {1}, "the incomplete batch is dropped"
    assert not np.array_equal(epochs[0][0], epochs[1][0])
    again = CellSampler(100, (0,))
    assert np.array_equal(again.sample(0, 25, 3, 3), epochs[2][3]), "in any order of steps"
    assert not np.array_equal(CellSampler(100, (1,)).sample(0, 0, 3, 3), epochs[0][0])


def test_a_batch_of_more_cells_than_there_are() -> None:
    message = r"a batch takes 8000 counts .* \(batch_size 1000 x 8\), but the text has only 3"
    with pytest.raises(ValueError, match=message):
        CellSampler(3, (0,)).sample(0, 0, 1000, 8)
    unknown = TokenStream(np.full(50, 3, np.uint16), np.array([0, 50]), np.array([0, 1]))
    assert len(Cells.of(unknown, vocabulary(), 10)) == 0


def test_held_out_text_has_no_loss() -> None:
    assert [name for name, one in OBJECTIVES.items() if not has_held_out_loss(_last(one))] == [
        "glove"
    ]


def _last(objective: Any) -> Any:
    return objective.components[-1][1]


@pytest.mark.parametrize("field", [{"window": 0}, {"x_max": 0}, {"x_max": -1}, {"alpha": -0.5}])
def test_settings_out_of_range(field: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(field))):
        Cooccurrence(**field)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"packing": {"format": "doc_sentences"}}, "packing makes sequences .* leave packing out"),
        ({"packing": {"order": "sequential"}}, "packing makes sequences"),
        ({"objective": {"masking": "static"}}, "masking must be dynamic, .* but is static"),
        ({"model": {"context_size": 3}}, r"leave it at 5, and set objective\.output\.window"),
        ({"model": {"vectors": "vectors.txt"}}, "adds vectors of contexts to .* leave one out"),
        ({"init_from": {"budget": {"steps": 1}}}, "starts from random vectors .* leave init_from"),
        ({"objective": {"transform": "context_window"}}, "can follow the transform none"),
        ({"objective": {"representation": "cbow"}}, "under representation skipgram"),
    ],
)
def test_fields_without_effect_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        resolve_pretrain({"recipe": "glove", **changes})
