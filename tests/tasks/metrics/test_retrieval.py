"""Ranking against torchmetrics, query by query, and where the two differ."""

import numpy as np
import pytest
import torch
from torchmetrics.functional.retrieval import (
    retrieval_normalized_dcg,
    retrieval_recall,
    retrieval_reciprocal_rank,
)

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


def test_ndcg_of_torchmetrics_averages_ties_and_recall_is_float32() -> None:
    grades, groups = np.array([1, 0]), np.array(["q", "q"])
    theirs = ORACLES["ndcg_at_10"](torch.zeros(2), torch.tensor(grades))
    assert float(theirs) == pytest.approx((1 + 1 / np.log2(3)) / 2)
    assert METRICS["ndcg_at_10"](grades, np.zeros(2), groups) == 1
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


def test_of_equal_scores_the_first_comes_first() -> None:
    groups = np.array(["a"] * 3, dtype=object)
    grades, scores = np.array([0.0, 1.0, 0.0]), np.zeros(3)
    assert METRICS["mrr"](grades, scores, groups) == pytest.approx(1 / 2)


def test_groups_are_needed() -> None:
    with pytest.raises(ValueError, match="needs the group of every example"):
        METRICS["mrr"](np.ones(2), np.ones(2))
