"""Classification metrics: accuracy, F1, the Matthews correlation, and those of MultiRC and AX-g.

torchmetrics counts the hits of each class in each example; quotients are taken here, because its
own are float32.
"""

import numpy as np

from harness.tasks.metrics.metric import (
    Array,
    Groups,
    Metric,
    Names,
    counted_metric,
    divide,
    f_score,
    mean_metric,
    members,
)

NO_CLASS = -1
"""Prediction that matches no class."""


def correct(labels: Array, predictions: Array, groups: Groups, names: Names) -> Array:
    """[num_examples]: whether each prediction is correct."""
    # Without `_class_counts`, which take 10 kB for each word of a task with 80 tags.
    return np.asarray(whole(labels) == whole(predictions), dtype=np.float64)


def f1_counts(labels: Array, predictions: Array, groups: Groups, names: Names) -> Array:
    """[num_examples, 2]: whether a true positive of class 1; predicted plus true ones (0 to 2)."""
    hits, predicted, true = _class_counts(labels, predictions, 2)[:, 1 - NO_CLASS].T
    return np.stack([hits, predicted + true], axis=1)


def macro_f1_counts(labels: Array, predictions: Array, groups: Groups, names: Names) -> Array:
    """[num_examples, 2 x num_classes]: both counts of `f1_counts` for each class."""
    found = _class_counts(labels, predictions, len(names))[:, -NO_CLASS:]
    hits, predicted, true = np.moveaxis(found, -1, 0)
    return np.concatenate([hits, predicted + true], axis=1)


def macro_f1_from_counts(sums: Array) -> Array:
    """[...] mean over the classes of `f_score`, from [..., 2 x num_classes]."""
    both, total = np.split(sums, 2, axis=-1)
    return np.asarray(divide(2 * both, total).mean(axis=-1))


def matthews_counts(labels: Array, predictions: Array, groups: Groups, names: Names) -> Array:
    """[num_examples, 2 x (num_classes + 1) + 1]: predicted class, true class, whether correct.

    The sums are the margins and the trace of the confusion matrix, with a row for NO_CLASS.
    """
    found = _class_counts(labels, predictions, len(names))
    hits, predicted, true = np.moveaxis(found, -1, 0)
    return np.concatenate([predicted, true, hits.sum(axis=1, keepdims=True)], axis=1)


def matthews_from_counts(sums: Array) -> Array:
    """[...] multi-class correlation from the margins and the trace (Gorodkin 2004); 0 if labels or
    predictions are constant."""
    predicted, true = np.split(sums[..., :-1], 2, axis=-1)
    total = true.sum(axis=-1)
    covariance = sums[..., -1] * total - (predicted * true).sum(axis=-1)
    spread = [total**2 - (side**2).sum(axis=-1) for side in (predicted, true)]
    return divide(covariance, np.sqrt(spread[0] * spread[1]))


# The questions of MultiRC (Khashabi et al. 2018) are groups of answers to classify. They are the
# units of both metrics, because answers to one question are dependent.
def f1_answers_counts(labels: Array, predictions: Array, groups: Groups, names: Names) -> Array:
    """[num_groups, 2]: the counts of `f1_counts`, summed over each group."""
    return _sums(f1_counts(labels, predictions, groups, names), groups)


def all_right(labels: Array, predictions: Array, groups: Groups, names: Names) -> Array:
    """[num_groups], sorted by name: whether all answers of a group are right."""
    wrong = 1 - correct(labels, predictions, groups, names)
    return _sums(wrong[:, None], groups)[:, 0] == 0


def all_alike(labels: Array, predictions: Array, groups: Groups, names: Names) -> Array:
    """[num_groups], sorted by name: whether all examples of a group get the same class; false if
    one gets none."""
    given = whole(predictions)
    return np.array(
        [given[rows[0]] != NO_CLASS and len(set(given[rows])) == 1 for rows in members(groups)]
    )


def whole(values: Array) -> Array:
    """[num_examples] int64 class indices; NO_CLASS for numbers that are not whole, such as NaN."""
    numbers = np.asarray(values, dtype=np.float64)
    fits = np.isfinite(numbers) & (numbers == np.rint(numbers))
    return np.where(fits, numbers, NO_CLASS).astype(np.int64)


def _class_counts(labels: Array, predictions: Array, num_classes: int = 0) -> Array:
    """[num_examples, num_classes + 1, 3]: whether each class is a true positive, predicted, true.

    NO_CLASS comes first.

    Args:
        num_classes: the least; more if there are higher indices.
    """
    import torch
    from torchmetrics.functional.classification import multiclass_stat_scores

    # torchmetrics' classes begin with 0.
    true, predicted = (
        torch.from_numpy(whole(side) - NO_CLASS).unsqueeze(1) for side in (labels, predictions)
    )
    found = multiclass_stat_scores(
        predicted,
        true,
        num_classes=max(num_classes, 1, int(true.max()), int(predicted.max())) + 1,
        average=None,
        multidim_average="samplewise",
        validate_args=False,
    )
    hits, false_hits, _, misses, _ = found.numpy().astype(np.float64).transpose(2, 0, 1)
    return np.stack([hits, hits + false_hits, hits + misses], axis=-1)


def _sums(values: Array, groups: Groups) -> Array:
    """[num_groups, k] sums of values [num_examples, k], sorted by name of the group."""
    return np.array([values[rows].sum(axis=0) for rows in members(groups)])


CLASS_METRICS: tuple[Metric, ...] = (
    mean_metric("accuracy", correct),
    counted_metric("f1", f1_counts, f_score, note="F1 of class 1"),
    counted_metric(
        "macro_f1",
        macro_f1_counts,
        macro_f1_from_counts,
        note="mean over all classes of the task, 0 for one neither there nor predicted",
    ),
    mean_metric("micro_f1", correct, note="equals accuracy, as in Gururangan et al. 2020"),
    counted_metric("matthews", matthews_counts, matthews_from_counts, least=-1.0),
    counted_metric(
        "f1_answers",
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
    mean_metric(
        "parity",
        all_alike,
        "share of minimal pairs with equal answers, right or wrong (of AX-g: gender parity)",
        grouped=True,
    ),
)
