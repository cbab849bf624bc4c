"""Places of documents in a collection: by sorting, with ties, and without a similarity."""

import numpy as np
import pytest
from scipy.stats import rankdata

from harness.finetuning import ranking
from harness.finetuning.ranking import collection, places
from harness.tasks.examples import Examples


def test_equal_documents_are_one() -> None:
    examples = Examples([("q", "b"), ("r", "a"), ("s", "b")], np.ones(3))
    documents, numbers = collection(examples)
    assert documents == ["b", "a"] and numbers.tolist() == [0, 1, 0]


@pytest.mark.parametrize("at_once", [1, 7, 1024])
def test_places_are_scipys_ranks(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranking, "AT_ONCE", at_once)
    dice = np.random.default_rng(0)
    given = dice.integers(0, 9, (20, 30)) / 9.0  # with ties
    numbers = dice.integers(0, 30, 20)
    found = places(lambda rows: given[rows], numbers)
    assert found.shape == (20,) and found.dtype == object
    low, high = (rankdata(-given, method=how, axis=1) for how in ("min", "max"))
    for row, (before, equal) in enumerate(found):
        assert (before + 1, before + equal + 1) == (low[row, numbers[row]], high[row, numbers[row]])


def test_documents_without_a_similarity_come_last_together() -> None:
    given = np.array([[np.nan, 0.5, np.nan], [np.nan, np.nan, np.nan]])
    assert places(lambda rows: given[rows], np.array([0, 1])).tolist() == [(1, 1), (0, 2)]
