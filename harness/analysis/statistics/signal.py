"""How far a task separates arms, beside the spread between seeds."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from harness.analysis.statistics.bootstrap import Array

ROUNDING = 1e-9
"""Standard deviations of equal scores may be as large, by how numbers are summed."""


@dataclass(frozen=True)
class Signal:
    """The signal and noise of a task, in the unit of its scores."""

    signal: float
    """Largest difference between the means of two arms."""
    noise: float
    """Standard deviation between the seeds of an arm, pooled over arms, of paired arms without what
    a seed does to all of them; 0 if they are equal."""
    without: float
    """The signal that arms without a difference are expected to show, by their noise alone."""
    p: float
    """Of an analysis of variance: how probable so large a spread is without a difference; NaN
    without noise."""
    num_arms: int
    """Number of arms with a score."""

    @property
    def ratio(self) -> float:
        """Signal by noise; infinite without noise."""
        return self.signal / self.noise if self.noise else float("inf")


def signal_and_noise(arms: Sequence[Array], paired: bool = False) -> Signal | None:
    """The signal and noise of a task.

    As in Heineman et al. 2025 ("Signal and noise: a framework for reducing uncertainty in language
    model evaluation", section 3), with seeds instead of the last checkpoints of a run, and without
    dividing both by the mean.

    Args:
        arms: [num_seeds] scores of each arm; those without a score are left out.
        paired: whether all arms have scores of the same seeds, and depend on each other, as runs
            with the same checkpoints.

    Returns:
        Null with fewer than two arms, or without an arm with two seeds.
    """
    known = [found for arm in arms if len(found := arm[~np.isnan(arm)])]
    squares, freedom = within_arms(known, paired) if len(known) > 1 else (0.0, 0)
    if not freedom:
        return None
    noise = (squares / freedom) ** 0.5
    noise = noise if noise > ROUNDING else 0.0
    deviation = noise * float(np.mean([1 / len(one) for one in known])) ** 0.5
    without = deviation * expected_range(len(known)) if noise else 0.0
    p = analysis_of_variance(known, paired) if noise else float("nan")
    means = [one.mean() for one in known]
    return Signal(float(np.ptp(means)), noise, without, p, len(known))


def within_arms(arms: Sequence[Array], paired: bool) -> tuple[float, int]:
    """The sum of squares between the seeds of arms, and its degrees of freedom.

    Args:
        arms: [num_seeds] of two arms or more.
        paired: as of `signal_and_noise`; what a seed does to all arms is left out.
    """
    rests = [one - one.mean() for one in arms]
    squares = sum(float((rest**2).sum()) for rest in rests)
    if not paired:
        return squares, sum(len(one) - 1 for one in arms)
    of_seeds = len(arms) * float((np.mean(rests, axis=0) ** 2).sum())
    return max(0.0, squares - of_seeds), (len(arms) - 1) * (len(arms[0]) - 1)


def analysis_of_variance(arms: Sequence[Array], paired: bool = False) -> float:
    """p of a one-way analysis of variance (Fisher 1925, "Statistical methods for research workers",
    chapter 7), as of `scipy.stats.f_oneway`, which takes a second to import; of paired arms, of
    randomised blocks, which are the seeds (Fisher 1935, "The design of experiments", chapter 4).

    Args:
        arms: [num_seeds] known scores of each arm, two arms or more, of which some vary.
        paired: as of `signal_and_noise`.
    """
    from scipy.special import fdtrc

    pooled = np.concatenate(arms)
    between = sum(len(one) * (one.mean() - pooled.mean()) ** 2 for one in arms)
    within, second = within_arms(arms, paired)
    first = len(arms) - 1
    return float(fdtrc(first, second, between / first / (within / second)))


@lru_cache
def expected_range(number: int) -> float:
    """Mean difference between the largest and the smallest of so many standard normal values
    (Tippett 1925, "On the extreme individuals and the range of samples", Biometrika 17)."""
    from scipy.integrate import quad
    from scipy.special import ndtr

    def outside(value: float) -> float:
        return float(1 - ndtr(value) ** number - ndtr(-value) ** number)

    return float(quad(outside, -np.inf, np.inf)[0])
