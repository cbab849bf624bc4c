"""McNemar's exact test of two models on the same examples."""

from dataclasses import dataclass

import numpy as np
from scipy.stats import binomtest

from harness.analysis.statistics.bootstrap import Array, check_finite


@dataclass(frozen=True)
class McNemarTest:
    """A two-sided p value."""

    p_value: float
    floor: float
    """The smallest p value possible with this number of discordant pairs."""


def mcnemar(first_right: Array, second_right: Array) -> McNemarTest:
    """Tests whether two models err equally often on the same examples.

    The test compares these two models, not the two ways in which they were pretrained.

    Source: McNemar 1947, in its exact, binomial form.

    Args:
        first_right: [num_examples], whether each answer of the first model is right.
        second_right: [num_examples], the same of the second model.

    Raises:
        ValueError: the arrays are empty, differ in length, or contain a value that is not finite.
    """
    first, second = np.asarray(first_right), np.asarray(second_right)
    if first.ndim != 1 or first.shape != second.shape or not len(first):
        raise ValueError(
            "McNemar's test needs two lists of equal length, but they have the shapes "
            f"{list(first.shape)} and {list(second.shape)}"
        )
    check_finite(first=first, second=second)
    only_first = int(np.sum(first.astype(bool) & ~second.astype(bool)))
    discordant = only_first + int(np.sum(~first.astype(bool) & second.astype(bool)))
    if not discordant:
        return McNemarTest(1.0, 1.0)
    return McNemarTest(float(binomtest(only_first, discordant).pvalue), 2.0 ** (1 - discordant))
