"""Ranking against torchmetrics, query by query."""

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
