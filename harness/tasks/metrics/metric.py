"""What a metric is: the score of a library, and the sums from which a resample is scored."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray
Groups = Array | None
"""[num_examples] text: the group of each example."""
Names = tuple[str, ...]
"""Names of the classes or tags, in the order of their numbers."""


@dataclass(frozen=True)
class Metric:
    """A score and its direction.

    `function` is the score as a library has it. `counts` and `from_counts` are the same score in
    two steps, for the bootstrap: a resample weighs the units, and a weighted sum of their counts is
    all that its score needs. Weights are numbers of draws, not shares: BLEU's smoothing heeds how
    much text there is.
    """

    name: str
    function: Callable[[Array, Array, Groups, Names], float]
    """(labels, predictions, groups, names) to the score."""
    counts: Callable[[Array, Array, Groups, Names], Array]
    """The same arguments to [num_units, k] float64: what each example (or group) adds."""
    from_counts: Callable[[Array], Array]
    """Sums of counts [..., k] to scores [...]."""
    note: str = ""
    """The variant, where the name alone leaves it open."""
    higher_is_better: bool = True
    grouped: bool = False
    """Whether it needs groups."""

    def __call__(
        self,
        labels: Sequence[Any] | Array,
        predictions: Sequence[Any] | Array,
        groups: Groups = None,
        names: Names = (),
    ) -> float:
        """Score of `predictions` against `labels`, both [num_examples], in 0..1 or -1..1.

        Raises:
            ValueError: no examples, arrays of different length, or no groups where they are needed.
        """
        if len(labels) != len(predictions) or not len(labels):
            raise ValueError(
                f"{self.name} needs as many predictions as labels and at least one, but got "
                f"{len(predictions)} and {len(labels)}"
            )
        if self.grouped and (groups is None or len(groups) != len(labels)):
            raise ValueError(f"{self.name} needs the group of every example")
        return self.function(column(labels), column(predictions), groups, names)


def column(values: Sequence[Any] | Array) -> Array:
    """[num_examples], one entry an example even where each is a list."""
    if isinstance(values, np.ndarray) and values.ndim == 1:
        return values
    entries = np.empty(len(values), dtype=object)
    for row, value in enumerate(values):
        entries[row] = value
    return entries


def counted(values: Array) -> Array:
    """[num_units, 2]: each one's score and 1, of which `mean` makes the mean."""
    return np.stack([np.asarray(values, dtype=np.float64), np.ones(len(values))], axis=1)


def mean(sums: Array) -> Array:
    """From the sum of scores and the number of units."""
    return divide(sums[..., 0], sums[..., 1])


def f_score(sums: Array) -> Array:
    """F1 from true positives and, together, predicted and true ones; 0 where there are none."""
    return divide(2 * sums[..., 0], sums[..., 1])


def divide(numerator: Array, denominator: Array) -> Array:
    """The quotient, 0 where the denominator is 0."""
    numerator, denominator = np.broadcast_arrays(numerator, denominator)
    quotient = np.zeros(numerator.shape)
    np.divide(numerator, denominator, out=quotient, where=denominator > 0)
    return quotient
