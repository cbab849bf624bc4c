"""Metrics of ranking: the documents of a query, its group, sorted by score.

A unit is a query. A document is relevant if its grade is above 0; of equal scores, the first comes
first. A query without relevant documents scores 0.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from harness.tasks.metrics.metric import Array, Groups, Metric, Names, counted, mean

Ranked = Callable[[Array], float]
"""Grades [num_documents] in the order of the ranking to the score of one query."""


def recall(grades: Array, at: int) -> float:
    """Share of the relevant documents that are among the first `at`."""
    relevant = grades > 0
    return float(relevant[:at].sum() / max(1, relevant.sum()))


def reciprocal_rank(grades: Array) -> float:
    """1 / place of the first relevant document (Voorhees 1999)."""
    found = np.flatnonzero(grades > 0)
    return float(1 / (found[0] + 1)) if len(found) else 0.0


def ndcg(grades: Array, at: int) -> float:
    """Gain, the grade over log2(place + 1), of the first `at`, over that of the best order
    (Järvelin and Kekäläinen 2002, with the grade as gain)."""
    best = _gain(np.sort(grades)[::-1], at)
    return _gain(grades, at) / best if best else 0.0


def _gain(grades: Array, at: int) -> float:
    first = grades[:at]
    return float((first / np.log2(np.arange(len(first)) + 2)).sum())


def _of_each(ranked: Ranked, labels: Array, predictions: Array, groups: Groups) -> Array:
    """[num_groups], in the order of the groups' names."""
    assert groups is not None
    grades, scores = labels.astype(np.float64), predictions.astype(np.float64)
    rows = [np.flatnonzero(groups == group) for group in np.unique(groups)]
    return np.array([ranked(grades[r][np.argsort(-scores[r], kind="stable")]) for r in rows])


def _metric(name: str, ranked: Ranked, note: str) -> Metric:
    def counts(labels: Array, predictions: Array, groups: Groups, names: Names) -> Array:
        """[num_groups, 2]: the query's score, 1."""
        return counted(_of_each(ranked, labels, predictions, groups))

    def function(labels: Array, predictions: Array, groups: Groups, names: Names) -> float:
        """Mean over the queries."""
        return float(_of_each(ranked, labels, predictions, groups).mean())

    return Metric(name, function, counts, mean, note=note, grouped=True)


RANK_METRICS: tuple[Metric, ...] = (
    _metric("ndcg_at_10", partial(ndcg, at=10), "grades as gains, over the first 10 of a query"),
    _metric("mrr", reciprocal_rank, "mean over the queries of 1 / place of the first relevant"),
    _metric("recall_at_5", partial(recall, at=5), "share of a query's relevant among its first 5"),
)
