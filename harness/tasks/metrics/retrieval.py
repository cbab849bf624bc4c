"""Ranking metrics; the documents of a query form a group.

A group has all documents that are ranked, with their similarities (kind similarity), or those that
have a grade, with their places in a collection (kind retrieval): its others have the grade 0.

A document is relevant if its grade is positive; a grade below 0 counts as 0 (in a collection, such
a document is not ranked for its query). Documents of equal similarity have no order: a
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

NOT_FOUND = (2**31 - 1, 0)
"""Place of a document that an index does not return: after all others. It adds nothing to a score,
as in trec_eval (m_recip_rank.c: the first relevant one that is retrieved, else 0)."""
Ranked = Callable[[Array, Array, Array], float]
"""[num_documents] grades of a query's documents, numbers of those with a higher similarity, and of
others with the same, to its score."""


def recall(grades: Array, before: Array, equal: Array, at: int) -> float:
    """Share of the relevant of [num_documents] among the first `at`; 0 without relevant ones."""
    relevant = (grades > 0).astype(np.float64)
    found = _mean_of_places(np.ones(at), before, equal)
    return float((relevant * found).sum() / max(1.0, relevant.sum()))


def reciprocal_rank(grades: Array, before: Array, equal: Array) -> float:
    """1 / rank of the first relevant of [num_documents] (Voorhees 1999); 0 without one."""
    relevant = (grades > 0) & (before < NOT_FOUND[0])
    if not relevant.any():
        return 0.0
    first = int(before[relevant].min())
    of_first = relevant & (before == first)
    num_ties, num_relevant = int(equal[of_first][0]) + 1, int(of_first.sum())
    mean, left = 0.0, 1.0  # the probability that no relevant one has come yet
    for place in range(num_ties - num_relevant + 1):
        share = num_relevant / (num_ties - place)
        mean += left * share / (first + place + 1)
        left *= 1 - share
    return mean


def ndcg(grades: Array, before: Array, equal: Array, at: int) -> float:
    """Discounted gain of the first `at` of [num_documents], relative to the ideal ranking.

    The gain is the grade and the discount log2(rank + 1) (Järvelin and Kekäläinen 2002).
    """
    discounts = 1 / np.log2(np.arange(at) + 2)
    ideal = np.sort(grades)[::-1][:at]
    best = float((ideal * discounts[: len(ideal)]).sum())
    found = float((grades * _mean_of_places(discounts, before, equal)).sum())
    return found / best if best else 0.0


def _mean_of_places(values: Array, before: Array, equal: Array) -> Array:
    """[num_documents] mean of `values` [at], of the first places, over the places that a document
    has among its ties; later places have 0."""
    total = np.concatenate([[0.0], np.cumsum(values)])
    ends = np.minimum(before + equal + 1, len(values)), np.minimum(before, len(values))
    return np.asarray((total[ends[0]] - total[ends[1]]) / (equal + 1))


def _standings(predictions: Array) -> tuple[Array, Array]:
    """[num_documents] int64 of `Ranked`: of places as given, of similarities among themselves."""
    if np.ndim(predictions[0]):
        before, equal = np.array(list(predictions), dtype=np.int64).T
        return before, equal
    given = predictions.astype(np.float64)
    similarities = np.where(np.isnan(given), -np.inf, given)  # of a run that diverged
    _, place, size = np.unique(-similarities, return_inverse=True, return_counts=True)
    return (np.cumsum(size) - size)[place], (size - 1)[place]


def _metric(name: str, ranked: Ranked, note: str) -> Metric:
    """The mean of `ranked` over the queries."""

    def scores(labels: Array, predictions: Array, groups: Groups, names: Names) -> Array:
        grades = np.maximum(labels.astype(np.float64), 0)
        return np.array(
            [ranked(grades[rows], *_standings(predictions[rows])) for rows in members(groups)]
        )

    return mean_metric(name, scores, note, grouped=True)


RANK_METRICS: tuple[Metric, ...] = (
    _metric("ndcg_at_10", partial(ndcg, at=10), "grades as gains, over the first 10 of a query"),
    _metric("mrr", reciprocal_rank, "mean over the queries of 1 / place of the first relevant"),
    _metric("recall_at_5", partial(recall, at=5), "share of a query's relevant among its first 5"),
)
