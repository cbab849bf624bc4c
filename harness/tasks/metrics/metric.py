"""The parts of a metric: its score, and the per-unit counts from which resamples are scored."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.tasks.examples import column

Array = np.ndarray
Groups = Array | None
"""[num_examples] text, the group of each example; None without groups."""
Names = tuple[str, ...]
"""Names of the classes or tags in the order of their indices."""


@dataclass(frozen=True)
class Metric:
    """A score; higher is better.

    `counts` and `from_counts` compute the score in two steps, for the bootstrap: the score of a
    resample depends only on a weighted sum of the counts. Weights are numbers of draws, not shares,
    because BLEU's smoothing depends on the amount of text. `function` is the same score, computed
    at once where a library does so (`counted_metric`: the score of the summed counts).
    """

    name: str
    function: Callable[[Array, Array, Groups, Names], float]
    """(labels, predictions, groups, names) to the score. Arrays are [num_examples]."""
    counts: Callable[[Array, Array, Groups, Names], Array]
    """The same arguments to [num_units, k] float64, where a unit is an example or a group."""
    from_counts: Callable[[Array], Array]
    """Sums of counts [..., k] to scores [...]."""
    note: str = ""
    """The variant, if the name alone is ambiguous; shown under leaderboards."""
    grouped: bool = False
    """Whether groups are required."""
    least: float = 0.0
    """The lowest possible score; the highest is 1."""

    def __call__(
        self,
        labels: Sequence[Any] | Array,
        predictions: Sequence[Any] | Array,
        groups: Groups = None,
        names: Names = (),
    ) -> float:
        """The score of `predictions`, in 0..1 or -1..1; NaN if undefined.

        Args:
            labels: [num_examples], in the format of `Examples.labels`.
            predictions: [num_examples], in the format of `scores.Predictions`.
            groups: [num_examples] text, for metrics of groups.
            names: of the classes or tags.

        Raises:
            ValueError: no examples, arrays of different lengths, or missing groups.
        """
        if len(labels) != len(predictions) or not len(labels):
            raise ValueError(
                f"{self.name} needs as many predictions as labels and at least one, but got "
                f"{len(predictions)} and {len(labels)}"
            )
        if self.grouped and (groups is None or len(groups) != len(labels)):
            raise ValueError(f"{self.name} needs the group of every example")
        return self.function(column(labels), column(predictions), groups, names)


def counted_metric(
    name: str,
    counts: Callable[[Array, Array, Groups, Names], Array],
    from_counts: Callable[[Array], Array],
    note: str = "",
    grouped: bool = False,
    least: float = 0.0,
) -> Metric:
    """A metric that is computed from its summed counts.

    Args:
        counts: (labels, predictions, groups, names) to [num_units, k].
        from_counts: [..., k] to [...].
        least: its lowest possible score.
    """
    return Metric(
        name,
        lambda *columns: float(from_counts(counts(*columns).sum(axis=0))),
        counts,
        from_counts,
        note=note,
        grouped=grouped,
        least=least,
    )


def mean_metric(
    name: str,
    scores: Callable[[Array, Array, Groups, Names], Array],
    note: str = "",
    grouped: bool = False,
) -> Metric:
    """A metric that is the mean of a score of each unit.

    Args:
        scores: (labels, predictions, groups, names) to [num_units].
    """
    return Metric(
        name,
        lambda *columns: float(scores(*columns).mean()),
        lambda *columns: counted(scores(*columns)),
        mean,
        note=note,
        grouped=grouped,
    )


def counted(values: Array) -> Array:
    """[num_units, 2]: the score of each unit, and 1; the counts of `mean`."""
    return np.stack([np.asarray(values, dtype=np.float64), np.ones(len(values))], axis=1)


def mean(sums: Array) -> Array:
    """[...] mean, from [..., 2] sums of scores and numbers of units."""
    return divide(sums[..., 0], sums[..., 1])


def f_score(sums: Array) -> Array:
    """[...] F1, from [..., 2] true positives, and predicted plus true ones; 0 without any."""
    return divide(2 * sums[..., 0], sums[..., 1])


def divide(numerator: Array, denominator: Array) -> Array:
    """[...] quotient, or 0 where the denominator is 0; shapes are broadcast."""
    numerator, denominator = np.broadcast_arrays(numerator, denominator)
    quotient = np.zeros(numerator.shape)
    np.divide(numerator, denominator, out=quotient, where=denominator > 0)
    return quotient


def members(groups: Groups) -> list[Array]:
    """The indices of the examples of each group, [num_members] each, sorted by name."""
    assert groups is not None
    _, numbers, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    return np.split(np.argsort(numbers, kind="stable"), np.cumsum(sizes)[:-1])


@contextmanager
def double_precision() -> Iterator[None]:
    """Makes float64 the default of new tensors, in which torchmetrics' text and ranking metrics
    compute; in float32 a mean may print another last digit."""
    import torch

    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(before)
