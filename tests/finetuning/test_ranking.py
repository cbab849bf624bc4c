"""Places of documents in a collection: by sorting, with ties, and without a similarity."""

import numpy as np
import pytest
from scipy.stats import rankdata

from harness.finetuning import ranking
from harness.finetuning.ranking import NONE, Collection, collection, listed_places, places
from harness.tasks.examples import Examples
from harness.tasks.metrics import METRICS
from harness.tasks.metrics.retrieval import NOT_FOUND


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
    nothing = np.zeros((0, 4), dtype=np.int64)
    assert len(listed_places(nothing, (nothing, nothing), none, 10)) == none.most_left_out == 0


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


def test_places_in_a_whole_list_are_those_of_exact_search() -> None:
    """With many ties, whose similarities are whole numbers, in lists of any order, and with
    documents that are left out, which have no place."""
    dice = np.random.default_rng(0)
    vectors = tuple(dice.integers(-2, 3, (size, 3)).astype(np.float32) for size in (20, 30))
    numbers, queries = dice.integers(0, 30, 80), np.append(np.arange(20), dice.integers(0, 20, 60))
    _, first = np.unique(30 * queries + numbers, return_index=True)
    numbers, queries = numbers[first], queries[first]
    left_out = dice.random(len(first)) < 0.3
    found = pairs(numbers, queries, left_out)
    listed = np.array([dice.permutation(30) for _ in range(20)])
    given = listed_places(listed, (vectors[0], vectors[1]), found, 30)
    wanted = places(lambda rows: vectors[0][rows] @ vectors[1].T, found)
    assert given[~left_out].tolist() == wanted[~left_out].tolist()
    assert set(given[left_out]) == {NOT_FOUND} and max(equal for _, equal in wanted) > 3
    assert found.most_left_out == np.bincount(queries[left_out]).max() > 1


def test_a_list_is_cut_after_those_that_are_left_out() -> None:
    """Document 0 is nearest, then 1, 2 and 3."""
    vectors = np.ones((2, 1)), np.array([[4.0], [3.0], [2.0], [1.0]])
    numbers, queries = np.array([0, 1, 2, 3, 1, 2]), np.array([0, 0, 0, 0, 1, 1])
    left_out = np.array([True, False, False, False, False, False])
    listed = np.array([[0, 1, 2, 3], [0, 1, 2, 3]])
    found = listed_places(listed, vectors, pairs(numbers, queries, left_out), 2)
    assert found.tolist() == [NOT_FOUND, (0, 0), (1, 0), NOT_FOUND, (1, 0), NOT_FOUND]


def test_a_document_that_is_not_found_adds_nothing_to_a_score() -> None:
    vectors = np.ones((1, 1)), np.array([[2.0], [1.0], [3.0]])
    found = pairs(np.array([0, 1]), np.array([0, 0]))
    groups, grades = np.array(["q", "q"], dtype=object), np.array([1.0, 1.0])
    only = listed_places(np.array([[NONE, 0, NONE]]), vectors, found, 10)
    assert only.tolist() == [(0, 0), NOT_FOUND]
    ideal = 1 + 1 / np.log2(3)
    for name, wanted in {"mrr": 1.0, "recall_at_5": 0.5, "ndcg_at_10": 1 / ideal}.items():
        assert METRICS[name](grades, only, groups) == pytest.approx(wanted)
    none = listed_places(np.array([[2, NONE]]), vectors, found, 10)
    assert none.tolist() == [NOT_FOUND, NOT_FOUND]
    for name in ("mrr", "recall_at_5", "ndcg_at_10"):
        for size in (1, 2):
            assert METRICS[name](grades[:size], none[:size], groups[:size]) == 0
