"""Metrics of answers in groups: MultiRC (Khashabi et al. 2018), where a question has many answers,
each of them right or wrong.

Units of both metrics are the groups, so that both are scored on the same resamples; answers to one
question are not independent of each other.
"""

import numpy as np

from harness.tasks.metrics.classification import f1, f1_counts, whole
from harness.tasks.metrics.metric import Array, Groups, Metric, Names, counted, f_score, mean


def f1_answers_counts(labels: Array, predictions: Array, groups: Groups, names: Names) -> Array:
    """[num_groups, 2]: sums over the group of the counts of F1."""
    return _sums(f1_counts(labels, predictions, groups, names), groups)


def exact_match_groups(labels: Array, predictions: Array, groups: Groups, names: Names) -> float:
    """Share of groups with every answer right."""
    return float(_all_right(labels, predictions, groups).mean())


def exact_match_groups_counts(
    labels: Array, predictions: Array, groups: Groups, names: Names
) -> Array:
    """[num_groups, 2]: all right, 1."""
    return counted(_all_right(labels, predictions, groups))


def _all_right(labels: Array, predictions: Array, groups: Groups) -> Array:
    """[num_groups], in the order of the groups' names."""
    wrong = (whole(labels) != whole(predictions)).astype(np.float64)
    return _sums(wrong[:, None], groups)[:, 0] == 0


def _sums(values: Array, groups: Groups) -> Array:
    """[num_groups, k] sums of values [num_examples, k], in the order of the groups' names."""
    assert groups is not None
    names, places = np.unique(groups, return_inverse=True)
    sums = np.zeros((len(names), values.shape[1]))
    np.add.at(sums, places, values)
    return sums


GROUP_METRICS: tuple[Metric, ...] = (
    Metric(
        "f1_answers",
        f1,
        f1_answers_counts,
        f_score,
        note="F1a of MultiRC: F1 of class 1 over all answers",
        grouped=True,
    ),
    Metric(
        "exact_match_groups",
        exact_match_groups,
        exact_match_groups_counts,
        mean,
        note="share of questions with every answer right",
        grouped=True,
    ),
)
