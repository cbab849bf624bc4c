"""Ranking metrics; the documents of a query form a group.

A document is relevant if its grade is positive. Documents of equal similarity have no order: a
score is its mean over all of theirs (McSherry and Najork 2008, "Computing information retrieval
performance measures efficiently in the presence of tied scores", ECIR), so that a network that
scores all alike gets what chance gives. torchmetrics does so for nDCG alone, takes documents with a
similarity of 0 or less as not found, and has float32. A query without relevant documents scores 0.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from harness.tasks.metrics.metric import (
    Array,
    Groups,
    Metric,
    Names,
    mean_metric,
    members,
)

Ranked = Callable[[Array, Array], float]
"""[num_documents] grades and similarities of a query to its score."""


def by_rank(values: Array, similarities: Array) -> Array:
    """[num_documents] values in the order of falling similarity; ties have their mean value."""
    _, group, size = np.unique(-similarities, return_inverse=True, return_counts=True)
    return np.repeat(np.bincount(group, weights=values) / size, size)


def recall(grades: Array, similarities: Array, at: int) -> float:
    """Share of the relevant among the first `at` of [num_documents]; 0 without relevant ones."""
    relevant = (grades > 0).astype(np.float64)
    return float(by_rank(relevant, similarities)[:at].sum() / max(1.0, relevant.sum()))


def reciprocal_rank(grades: Array, similarities: Array) -> float:
    """1 / rank of the first relevant of [num_documents] (Voorhees 1999); 0 without one."""
    relevant = grades > 0
    if not relevant.any():
        return 0.0
    highest = similarities[relevant].max()
    before = int((similarities > highest).sum())
    ties = similarities == highest
    num_ties, num_relevant = int(ties.sum()), int((ties & relevant).sum())
    mean, left = 0.0, 1.0  # the probability that no relevant one has come yet
    for place in range(num_ties - num_relevant + 1):
        share = num_relevant / (num_ties - place)
        mean += left * share / (before + place + 1)
        left *= 1 - share
    return mean


def ndcg(grades: Array, similarities: Array, at: int) -> float:
    """Discounted gain of the first `at` of [num_documents], relative to the ideal ranking.

    The gain is the grade and the discount log2(rank + 1) (Järvelin and Kekäläinen 2002).
    """
    best = _gain(np.sort(grades)[::-1], at)
    return _gain(by_rank(grades, similarities), at) / best if best else 0.0


def _gain(grades: Array, at: int) -> float:
    first = grades[:at]
    return float((first / np.log2(np.arange(len(first)) + 2)).sum())


def _metric(name: str, ranked: Ranked, note: str) -> Metric:
    """The mean of `ranked` over the queries."""

    def scores(labels: Array, predictions: Array, groups: Groups, names: Names) -> Array:
        grades, given = labels.astype(np.float64), predictions.astype(np.float64)
        similarities = np.where(np.isnan(given), -np.inf, given)  # of a run that diverged
        return np.array([ranked(grades[rows], similarities[rows]) for rows in members(groups)])

    return mean_metric(name, scores, note, grouped=True)


RANK_METRICS: tuple[Metric, ...] = (
    _metric("ndcg_at_10", partial(ndcg, at=10), "grades as gains, over the first 10 of a query"),
    _metric("mrr", reciprocal_rank, "mean over the queries of 1 / place of the first relevant"),
    _metric("recall_at_5", partial(recall, at=5), "share of a query's relevant among its first 5"),
)
