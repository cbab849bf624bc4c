"""Ranking against torchmetrics, query by query, where the two differ, and ties."""

from itertools import permutations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import ndcg_score
from torchmetrics.functional.retrieval import (
    retrieval_normalized_dcg,
    retrieval_recall,
    retrieval_reciprocal_rank,
)

from harness.tasks import TASKS
from harness.tasks.examples import column
from harness.tasks.metrics import METRICS

ORACLES = {
    "ndcg_at_10": lambda scores, grades: retrieval_normalized_dcg(scores, grades, top_k=10),
    "mrr": lambda scores, grades: retrieval_reciprocal_rank(scores, grades > 0),
    "recall_at_5": lambda scores, grades: retrieval_recall(scores, grades > 0, top_k=5),
}


@pytest.mark.parametrize("name", ORACLES)
@pytest.mark.parametrize("size", [3, 20])
def test_scores_are_torchmetrics_means_over_the_queries(name: str, size: int) -> None:
    dice = np.random.default_rng(size)
    grades = np.array([dice.permutation([2, 1, *([0] * (size - 2))]) for _ in range(30)])
    scores = dice.random(grades.shape)  # to torchmetrics, what is below 0 is not found at all
    groups = np.repeat([f"q{row}" for row in range(30)], size).astype(object)
    wanted = [
        float(ORACLES[name](torch.tensor(s), torch.tensor(g)))
        for s, g in zip(scores, grades, strict=True)
    ]
    order = dice.permutation(groups.size)
    sides = grades.ravel()[order].astype(float), scores.ravel()[order], groups[order]
    assert METRICS[name](*sides) == pytest.approx(np.mean(wanted))
    counts = METRICS[name].counts(*sides, ())
    assert counts.shape == (30, 2) and counts[:, 0].mean() == pytest.approx(np.mean(wanted))


def test_torchmetrics_finds_no_document_of_a_negative_similarity() -> None:
    grades, scores, groups = np.array([0, 1]), np.array([-0.5, -0.1]), np.array(["q", "q"])
    for name, oracle in ORACLES.items():
        assert METRICS[name](grades, scores, groups) == 1
        if name != "ndcg_at_10":
            assert oracle(torch.tensor(scores), torch.tensor(grades)) == 0


def test_recall_of_torchmetrics_is_float32() -> None:
    grades, scores = np.array([1, 0, 0, 0, 0, 1, 1]), np.arange(7.0, 0, -1)
    theirs = ORACLES["recall_at_5"](torch.tensor(scores), torch.tensor(grades))
    assert abs(float(theirs) - 1 / 3) > 1e-9
    found = METRICS["recall_at_5"](grades, scores, np.repeat("q", 7))
    assert found == pytest.approx(1 / 3, abs=1e-12)


def test_a_query_without_relevant_documents_scores_nothing() -> None:
    groups = np.array(["a", "a", "b"], dtype=object)
    for name in ORACLES:
        found = METRICS[name](np.array([0.0, 0.0, 1.0]), np.array([1.0, 2.0, 3.0]), groups)
        assert found == pytest.approx(0.5)


documents = st.lists(
    st.tuples(st.integers(0, 2), st.sampled_from([-1.0, 0.0, 0.5])), min_size=1, max_size=5
)
"""Grade and similarity of each document of a query; most similarities are equal to others."""


@pytest.mark.parametrize("name", ORACLES)
@given(query=documents)
def test_a_score_is_its_mean_over_all_orders_of_ties(
    name: str, query: list[tuple[int, float]]
) -> None:
    grades, scores = np.array(query, dtype=float).T
    group = np.repeat("q", len(query))

    def of_order(order: tuple[int, ...]) -> float:
        """With similarities that differ, and documents of equal ones in this order."""
        place = np.argsort(order)
        return METRICS[name](grades, np.argsort(np.lexsort((place, -scores))) * -1.0, group)

    orders = [of_order(order) for order in permutations(range(len(query)))]
    assert METRICS[name](grades, scores, group) == pytest.approx(np.mean(orders), abs=1e-12)


@given(query=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5)), min_size=2, max_size=40))
def test_ndcg_with_ties_is_that_of_scikit_learn(query: list[tuple[int, int]]) -> None:
    grades, scores = np.array(query, dtype=float).T
    found = METRICS["ndcg_at_10"](grades, scores, np.repeat("q", len(query)))
    assert found == pytest.approx(ndcg_score([grades], [scores], k=10), abs=1e-12)


def test_a_network_that_scores_all_alike_gets_what_chance_gives() -> None:
    """Wherever the relevant document stands in the data: 1/4 (1 + 1/2 + 1/3 + 1/4)."""
    for place in range(4):
        grades = np.eye(4)[place]
        found = METRICS["mrr"](grades, np.zeros(4), np.repeat("q", 4))
        assert found == pytest.approx(25 / 48)


def test_documents_without_a_similarity_come_last() -> None:
    groups, grades = np.repeat("q", 3), np.array([1.0, 0.0, 0.0])
    found = METRICS["mrr"](grades, np.array([np.nan, -5.0, np.nan]), groups)
    assert found == pytest.approx((1 / 2 + 1 / 3) / 2)


collections = st.lists(
    st.tuples(st.integers(0, 2), st.sampled_from([-1.0, 0.0, 0.5, 0.7])), min_size=1, max_size=25
)


@pytest.mark.parametrize("name", ORACLES)
@given(query=collections)
def test_places_in_a_collection_score_as_all_its_documents_listed(
    name: str, query: list[tuple[int, float]]
) -> None:
    """Those of grade 0 need not be listed."""
    grades, scores = np.array(query, dtype=float).T
    wanted = METRICS[name](grades, scores, np.repeat("q", len(query)))
    listed = np.flatnonzero(grades) if grades.any() else np.arange(1)
    places = column(
        [(int((scores > own).sum()), int((scores == own).sum()) - 1) for own in scores[listed]]
    )
    found = METRICS[name](grades[listed], places, np.repeat("q", len(listed)))
    assert found == pytest.approx(wanted, abs=1e-12)


def test_scores_of_a_place_by_hand() -> None:
    """One relevant document, in the third place: 1 / log2(4), 1 / 3, found among five."""
    sides = np.ones(1), column([(2, 0)]), np.array(["q"], dtype=object)
    assert [METRICS[name](*sides) for name in ORACLES] == pytest.approx([0.5, 1 / 3, 1.0])
    sides = np.ones(1), column([(4, 1)]), np.array(["q"], dtype=object)  # fifth or sixth
    ndcg = (1 / np.log2(6) + 1 / np.log2(7)) / 2
    assert [METRICS[name](*sides) for name in ORACLES] == pytest.approx([ndcg, 11 / 60, 0.5])


def test_chance_of_squad_is_that_of_a_network_that_scores_all_alike() -> None:
    sides = np.ones(1), column([(0, 2066)]), np.array(["q"], dtype=object)
    assert METRICS["ndcg_at_10"](*sides) == pytest.approx(TASKS["squad_retrieval"].chance, abs=5e-5)


def test_groups_are_needed() -> None:
    with pytest.raises(ValueError, match="needs the group of every example"):
        METRICS["mrr"](np.ones(2), np.ones(2))
