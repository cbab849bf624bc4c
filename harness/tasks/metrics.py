"""Metrics of the tasks: labels and predictions in, one number out.

Degenerate input has a fixed answer, so that no run fails on it: the Matthews correlation of
constant predictions is 0, F1 without any true or predicted positive is 0, and a correlation with a
constant is NaN, which tables show as null.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

Array = np.ndarray
"""[num_examples]: class numbers, or real values for regression."""


@dataclass(frozen=True)
class Metric:
    """A score and its direction."""

    name: str
    function: Callable[[Array, Array], float]
    higher_is_better: bool = True

    def __call__(self, labels: Array, predictions: Array) -> float:
        """Score of `predictions` against `labels`, both [num_examples], in 0..1 or -1..1.

        Raises:
            ValueError: no examples, or arrays of different length.
        """
        if len(labels) != len(predictions) or not len(labels):
            raise ValueError(
                f"{self.name} needs as many predictions as labels and at least one, but got "
                f"{len(predictions)} and {len(labels)}"
            )
        return self.function(np.asarray(labels), np.asarray(predictions))


def accuracy(labels: Array, predictions: Array) -> float:
    """Share of equal pairs."""
    return float(np.mean(labels == predictions))


def f1(labels: Array, predictions: Array) -> float:
    """F1 of class 1, the positive class of MRPC and QQP (Wang et al. 2019, section 3.2)."""
    true_positives = np.sum((labels == 1) & (predictions == 1))
    total = np.sum(labels == 1) + np.sum(predictions == 1)
    return float(2 * true_positives / total) if total else 0.0


def matthews(labels: Array, predictions: Array) -> float:
    """Matthews correlation of any number of classes (Gorodkin 2004); 0 where a side is constant."""
    from sklearn.metrics import matthews_corrcoef

    if _constant(labels) or _constant(predictions):
        return 0.0
    return float(matthews_corrcoef(labels, predictions))


def pearson(labels: Array, predictions: Array) -> float:
    """Linear correlation; NaN where a side is constant."""
    from scipy.stats import pearsonr

    if _constant(labels) or _constant(predictions):
        return float("nan")
    return float(pearsonr(labels, predictions).statistic)


def spearman(labels: Array, predictions: Array) -> float:
    """Rank correlation, ties at their mean rank; NaN where a side is constant."""
    from scipy.stats import spearmanr

    if _constant(labels) or _constant(predictions):
        return float("nan")
    return float(spearmanr(labels, predictions).statistic)


def _constant(values: Array) -> bool:
    return bool(np.all(values == values[0]))


METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric("accuracy", accuracy),
        Metric("f1", f1),
        Metric("matthews", matthews),
        Metric("pearson", pearson),
        Metric("spearman", spearman),
    )
}
