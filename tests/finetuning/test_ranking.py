"""Places of documents in a collection: by sorting, with ties, and without a similarity."""

import numpy as np
import pytest
from scipy.stats import rankdata

from harness.finetuning import ranking
from harness.finetuning.ranking import Collection, collection, places
from harness.tasks.examples import Examples


def pairs(
    numbers: np.ndarray, queries: np.ndarray, left_out: np.ndarray | None = None
) -> Collection:
    """Of these numbers of documents and queries; texts are not read."""
    names = [str(number) for number in range(queries.max() + 1)]
    none = np.zeros(len(numbers), dtype=bool)
    return Collection(
        names, [], np.stack([queries, numbers], 1), none if left_out is None else left_out
    )


def test_equal_texts_are_one() -> None:
    examples = Examples([("q", "b"), ("r", "a"), ("q", "a")], np.array([1.0, 0.0, -1.0]))
    found = collection(examples)
    assert (found.queries, found.documents) == (["q", "r"], ["b", "a"])
    assert found.pairs.tolist() == [[0, 0], [1, 1], [0, 1]]
    assert found.left_out.tolist() == [False, False, True]


@pytest.mark.parametrize("at_once", [1, 7, 1024])
def test_places_are_scipys_ranks(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranking, "AT_ONCE", at_once)
    dice = np.random.default_rng(0)
    given = dice.integers(0, 9, (20, 30)) / 9.0  # with ties
    numbers, queries = dice.integers(0, 30, 50), np.append(np.arange(20), dice.integers(0, 20, 30))
    found = places(lambda rows: given[rows], pairs(numbers, queries))
    assert found.shape == (50,) and found.dtype == object
    low, high = (rankdata(-given, method=how, axis=1) for how in ("min", "max"))
    for (before, equal), place in zip(found, zip(queries, numbers, strict=True), strict=True):
        assert (before + 1, before + equal + 1) == (low[place], high[place])


def test_no_pairs_have_no_places() -> None:
    none = collection(Examples([], np.zeros(0)))
    assert len(places(lambda rows: np.zeros((0, 0)), none)) == 0


def test_a_document_that_is_left_out_has_no_place() -> None:
    """As if the collection lacked it, for this query alone."""
    given = np.array([[0.9, 0.5, 0.9, 0.1], [0.9, 0.5, 0.9, 0.1]])
    queries, numbers = np.array([0, 0, 0, 1, 1]), np.array([0, 2, 1, 2, 1])
    left_out = np.array([True, False, False, False, False])
    found = places(lambda rows: given[rows], pairs(numbers, queries, left_out))
    assert found[1:].tolist() == [(0, 0), (1, 0), (0, 1), (2, 0)]


def test_documents_without_a_similarity_come_last_together() -> None:
    given = np.array([[np.nan, 0.5, np.nan], [np.nan, np.nan, np.nan]])
    found = places(lambda rows: given[rows], pairs(np.array([0, 1]), np.array([0, 1])))
    assert found.tolist() == [(1, 1), (0, 2)]
