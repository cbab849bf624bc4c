"""Metrics of MultiRC (Khashabi et al. 2018), whose questions have several answers to classify.

The units of both metrics are the questions (groups), because answers to one question are dependent.
"""

import numpy as np

from harness.tasks.metrics.classification import f1, f1_counts, whole
from harness.tasks.metrics.metric import Array, Groups, Metric, Names, f_score, mean_metric


def f1_answers_counts(labels: Array, predictions: Array, groups: Groups, names: Names) -> Array:
    """[num_groups, 2]: the counts of `f1_counts`, summed over each group."""
    return _sums(f1_counts(labels, predictions, groups, names), groups)


def all_right(labels: Array, predictions: Array, groups: Groups, names: Names) -> Array:
    """[num_groups], sorted by name: whether all answers of a group are right."""
    wrong = (whole(labels) != whole(predictions)).astype(np.float64)
    return _sums(wrong[:, None], groups)[:, 0] == 0


def _sums(values: Array, groups: Groups) -> Array:
    """[num_groups, k] sums of values [num_examples, k], sorted by name of the group."""
    assert groups is not None
    names, index = np.unique(groups, return_inverse=True)
    sums = np.zeros((len(names), values.shape[1]))
    np.add.at(sums, index, values)
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
    mean_metric(
        "exact_match_groups",
        all_right,
        "share of questions with every answer right",
        grouped=True,
    ),
)
