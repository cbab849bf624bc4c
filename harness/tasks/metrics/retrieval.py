"""Ranking metrics; the documents of a query form a group.

A document is relevant if its grade is positive. Ties keep the order of the data. A query without
relevant documents scores 0. torchmetrics gets the documents in order, as it takes those with a
similarity of 0 or less as not found. Its nDCG and recall are float32, so they are computed here.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from harness.tasks.metrics.metric import (
    Array,
    Groups,
    Metric,
    Names,
    double_precision,
    mean_metric,
    members,
)

Ranked = Callable[[Array], float]
"""[num_documents] grades in the order of the ranking, to the score of one query."""


def recall(grades: Array, at: int) -> float:
    """Share of the relevant among the first `at` of [num_documents]; 0 without relevant ones."""
    relevant = grades > 0
    return float(relevant[:at].sum() / max(1, relevant.sum()))


def reciprocal_rank(grades: Array) -> float:
    """1 / rank of the first relevant of [num_documents] (Voorhees 1999); 0 without one."""
    import torch
    from torchmetrics.functional.retrieval import retrieval_reciprocal_rank

    order = torch.arange(len(grades), 0, -1, dtype=torch.float64)
    with double_precision():
        return float(retrieval_reciprocal_rank(order, torch.from_numpy(grades > 0)))


def ndcg(grades: Array, at: int) -> float:
    """Discounted gain of the first `at` of [num_documents], relative to the ideal ranking.

    The gain is the grade and the discount log2(rank + 1) (Järvelin and Kekäläinen 2002).
    """
    best = _gain(np.sort(grades)[::-1], at)
    return _gain(grades, at) / best if best else 0.0


def _gain(grades: Array, at: int) -> float:
    first = grades[:at]
    return float((first / np.log2(np.arange(len(first)) + 2)).sum())


def _metric(name: str, ranked: Ranked, note: str) -> Metric:
    """The mean of `ranked` over the queries."""

    def scores(labels: Array, predictions: Array, groups: Groups, names: Names) -> Array:
        grades, similarities = labels.astype(np.float64), predictions.astype(np.float64)
        orders = [rows[np.argsort(-similarities[rows], kind="stable")] for rows in members(groups)]
        return np.array([ranked(grades[order]) for order in orders])

    return mean_metric(name, scores, note, grouped=True)


RANK_METRICS: tuple[Metric, ...] = (
    _metric("ndcg_at_10", partial(ndcg, at=10), "grades as gains, over the first 10 of a query"),
    _metric("mrr", reciprocal_rank, "mean over the queries of 1 / place of the first relevant"),
    _metric("recall_at_5", partial(recall, at=5), "share of a query's relevant among its first 5"),
)
