"""Classification metrics: accuracy, F1, the Matthews correlation, and those of MultiRC."""

import numpy as np

from harness.tasks.metrics.metric import (
    Array,
    Groups,
    Metric,
    Names,
    counted,
    divide,
    f_score,
    mean,
    mean_metric,
    members,
)

NO_CLASS = -1
"""Prediction that matches no class."""


def accuracy(labels: Array, predictions: Array, groups: Groups, names: Names) -> float:
    """Share of correct predictions among [num_examples]."""
    from sklearn.metrics import accuracy_score

    return float(accuracy_score(whole(labels), whole(predictions)))


def accuracy_counts(labels: Array, predictions: Array, groups: Groups, names: Names) -> Array:
    """[num_examples, 2]: whether correct, 1."""
    return counted(whole(labels) == whole(predictions))


def f1(labels: Array, predictions: Array, groups: Groups, names: Names) -> float:
    """F1 of class 1 over [num_examples], as for MRPC and QQP (Wang et al. 2019, section 3.2)."""
    from sklearn.metrics import f1_score

    return float(f1_score(whole(labels) == 1, whole(predictions) == 1, zero_division=0))


def f1_counts(labels: Array, predictions: Array, groups: Groups, names: Names) -> Array:
    """[num_examples, 2]: whether a true positive; predicted plus true positives (0 to 2)."""
    true, predicted = whole(labels) == 1, whole(predictions) == 1
    return np.stack([true & predicted, true * 1.0 + predicted], axis=1).astype(np.float64)


def macro_f1(labels: Array, predictions: Array, groups: Groups, names: Names) -> float:
    """Mean F1 of all classes over [num_examples]; 0 for one neither present nor predicted."""
    from sklearn.metrics import f1_score

    classes = range(_num_classes(labels, predictions, names))
    return float(
        f1_score(
            whole(labels), whole(predictions), labels=classes, average="macro", zero_division=0
        )
    )


def macro_f1_counts(labels: Array, predictions: Array, groups: Groups, names: Names) -> Array:
    """[num_examples, 2 x num_classes]: both counts of `f1_counts` for each class."""
    classes = np.arange(_num_classes(labels, predictions, names))
    true, predicted = _one_hot(labels, classes), _one_hot(predictions, classes)
    return np.concatenate([true * predicted, true + predicted], axis=1)


def macro_f1_from_counts(sums: Array) -> Array:
    """[...] mean over the classes of `f_score`, from [..., 2 x num_classes]."""
    both, total = np.split(sums, 2, axis=-1)
    return np.asarray(divide(2 * both, total).mean(axis=-1))


def matthews(labels: Array, predictions: Array, groups: Groups, names: Names) -> float:
    """Multi-class Matthews correlation (Gorodkin 2004) over [num_examples]; 0 for constants."""
    from sklearn.metrics import matthews_corrcoef

    true, predicted = whole(labels), whole(predictions)
    if constant(true) or constant(predicted):
        return 0.0
    return float(matthews_corrcoef(true, predicted))


def matthews_counts(labels: Array, predictions: Array, groups: Groups, names: Names) -> Array:
    """[num_examples, 2 x (num_classes + 1) + 1]: predicted class, true class, whether correct.

    The sums are the margins and the trace of the confusion matrix, with a row for NO_CLASS.
    """
    classes = np.arange(NO_CLASS, _num_classes(labels, predictions, names))
    right = (whole(labels) == whole(predictions))[:, None]
    return np.concatenate([_one_hot(predictions, classes), _one_hot(labels, classes), right], 1)


def matthews_from_counts(sums: Array) -> Array:
    """[...] correlation from the margins and the trace (Gorodkin 2004)."""
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
    wrong = (whole(labels) != whole(predictions)).astype(np.float64)
    return _sums(wrong[:, None], groups)[:, 0] == 0


def whole(values: Array) -> Array:
    """[num_examples] int64 class indices; NO_CLASS for numbers that are not whole, such as NaN."""
    numbers = np.asarray(values, dtype=np.float64)
    fits = np.isfinite(numbers) & (numbers == np.rint(numbers))
    return np.where(fits, numbers, NO_CLASS).astype(np.int64)


def constant(values: Array) -> bool:
    """Whether all values [num_examples] are equal."""
    return bool(np.all(values == values[0]))


def _num_classes(labels: Array, predictions: Array, names: Names) -> int:
    """Number of names; without names, the highest index plus 1."""
    return len(names) or int(max(whole(labels).max(), whole(predictions).max())) + 1


def _one_hot(values: Array, classes: Array) -> Array:
    """[num_examples, num_classes]."""
    return (whole(values)[:, None] == classes).astype(np.float64)


def _sums(values: Array, groups: Groups) -> Array:
    """[num_groups, k] sums of values [num_examples, k], sorted by name of the group."""
    return np.array([values[rows].sum(axis=0) for rows in members(groups)])


CLASS_METRICS: tuple[Metric, ...] = (
    Metric("accuracy", accuracy, accuracy_counts, mean),
    Metric("f1", f1, f1_counts, f_score, note="F1 of class 1"),
    Metric(
        "macro_f1",
        macro_f1,
        macro_f1_counts,
        macro_f1_from_counts,
        note="mean over all classes of the task, 0 for one neither there nor predicted",
    ),
    Metric(
        "micro_f1",
        accuracy,
        accuracy_counts,
        mean,
        note="equals accuracy, as in Gururangan et al. 2020",
    ),
    Metric("matthews", matthews, matthews_counts, matthews_from_counts),
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
