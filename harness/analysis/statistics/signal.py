"""How far a task separates arms, beside the spread between seeds."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from harness.analysis.statistics.bootstrap import Array


@dataclass(frozen=True)
class Signal:
    """The signal and noise of a task, in the unit of its scores."""

    signal: float
    """Largest difference between the means of two arms."""
    noise: float
    """Standard deviation between the seeds of an arm, pooled over arms."""
    without: float
    """The signal that arms without a difference are expected to show, by their noise alone."""
    p: float
    """Of a one-way analysis of variance: how probable so large a spread is without a difference;
    NaN without noise."""

    @property
    def ratio(self) -> float:
        """Signal by noise; infinite without noise."""
        return self.signal / self.noise if self.noise else float("inf")


def signal_and_noise(arms: Sequence[Array]) -> Signal | None:
    """The signal and noise of a task.

    As in Heineman et al. 2025 ("Signal and noise: a framework for reducing uncertainty in language
    model evaluation", section 3), with seeds instead of the last checkpoints of a run, and without
    dividing both by the mean.

    Args:
        arms: [num_seeds] scores of each arm; those without a score are left out.

    Returns:
        Null with fewer than two arms, or without an arm with two seeds.
    """
    known = [found for arm in arms if len(found := arm[~np.isnan(arm)])]
    freedom = sum(len(one) - 1 for one in known)
    if len(known) < 2 or not freedom:
        return None
    from scipy.stats import f_oneway

    squares = sum(float(((one - one.mean()) ** 2).sum()) for one in known)
    noise = (squares / freedom) ** 0.5
    deviation = noise * float(np.mean([1 / len(one) for one in known])) ** 0.5
    p = float(f_oneway(*known).pvalue) if noise else float("nan")
    means = [one.mean() for one in known]
    return Signal(float(np.ptp(means)), noise, deviation * expected_range(len(known)), p)


@lru_cache
def expected_range(number: int) -> float:
    """Mean difference between the largest and the smallest of so many standard normal values
    (Tippett 1925, "On the extreme individuals and the range of samples", Biometrika 17)."""
    from scipy.integrate import quad
    from scipy.stats import norm

    def outside(value: float) -> float:
        return float(1 - norm.cdf(value) ** number - norm.sf(value) ** number)

    return float(quad(outside, -np.inf, np.inf)[0])
