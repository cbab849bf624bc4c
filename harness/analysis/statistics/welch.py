"""Differences with intervals that hold for few pretraining seeds, where a bootstrap's do not.

The variance of a difference of two arms' means has a part of the seeds, s^2 / S by the unbiased
variance of the S means of a pretraining seed (their fine-tuning runs and the noise of single
answers are within it), and a part of the examples, which all runs share: the mean covariance, over
resampled examples, of two different runs. Two different runs share no noise of single answers, so
that nothing is counted twice.

The half widths of both parts add up in squares (Howe 1974, "Approximate confidence limits on the
mean of X + Y", JASA 69): that of the seeds by Student's quantile, with the degrees of freedom of
Welch (1947, "The generalization of Student's problem", Biometrika 34), that of the examples by the
normal one. One quantile for both, with degrees of freedom by Satterthwaite, was tried: with 2
paired seeds it held the truth in 88 % where this holds it in 96 (`benchmarks/calibration.py`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import hypot, sqrt

import numpy as np
from scipy.special import ndtri, stdtrit

from harness.analysis.statistics.bootstrap import (
    Array,
    Difference,
    Runs,
    check_finite,
    common_seeds,
)

LEAST_P = 1e-12
"""Below it a p-value is given as 0."""


@dataclass(frozen=True)
class _Uncertainty:
    """Of a difference: variances of its two parts, and degrees of freedom of the first."""

    seeds: float
    examples: float
    freedom: float

    def half_width(self, level: float) -> float:
        """Of the interval that holds the truth in a share `level` of cases."""
        upper = (1 + level) / 2
        of_seeds = float(stdtrit(self.freedom, upper)) * sqrt(self.seeds) if self.seeds else 0.0
        return hypot(of_seeds, float(ndtri(upper)) * sqrt(self.examples))

    def p_value(self, estimate: float) -> float:
        """1 - level of the widest interval around `estimate` that leaves zero out."""
        low, high = LEAST_P, 1.0
        if self.half_width(1 - low) < abs(estimate):
            return 0.0
        while high / low > 1 + 1e-9:
            middle = sqrt(low * high)
            if self.half_width(1 - middle) < abs(estimate):
                high = middle
            else:
                low = middle
        return high


def seed_means(arm: Mapping[str, Runs]) -> dict[tuple[str, str], Array]:
    """(task, cell) to [1 + num_replicates, num_seeds]: mean score of each pretraining seed that is
    there on every task, over its fine-tuning runs; seeds sorted."""
    seeds = common_seeds(arm)
    return {
        (task, cell): np.stack(
            [scores[:, runs.pretrain_seeds == seed].mean(axis=1) for seed in seeds], axis=1
        )
        for task, runs in arm.items()
        for cell, scores in runs.scores.items()
    }


def welch(first: Array, second: Array, *, paired: bool, level: float = 0.95) -> Difference:
    """First arm minus second arm, with its interval and two-sided p.

    An arm with one seed adds no part of the seeds, for that is not known then: the interval speaks
    of its one checkpoint.

    Args:
        first, second: [1 + num_replicates, num_seeds] of each arm, by `seed_means` or anything
            linear in it, such as an average over tasks; row 0 is the sample, and the others are
            scores on the same resampled examples for both arms.
        paired: whether runs at the same place of both arms have something in common, as a
            checkpoint that both start from. It costs degrees of freedom, S - 1 instead of up to
            2 S - 2.

    Raises:
        ValueError: arms without seeds or resamples, paired arms with different numbers of seeds, or
            a score that is not finite.
    """
    _check(first, second, paired)
    estimate = float(first[0].mean() - second[0].mean())
    uncertainty = _uncertainty([first - second] if paired else [first, second])
    half, p_value = uncertainty.half_width(level), uncertainty.p_value(estimate)
    num_seeds = min(first.shape[1], second.shape[1])
    return Difference(estimate, estimate - half, estimate + half, p_value, num_seeds)


def _uncertainty(sides: Sequence[Array]) -> _Uncertainty:
    """Of the first side's mean, less the second's if there are two."""
    parts = [_seed_part(side[0]) for side in sides]
    spread = sum(
        part**2 / (side.shape[1] - 1) for part, side in zip(parts, sides, strict=True) if part
    )
    examples = sum(_shared_variance(side[1:]) for side in sides)
    if len(sides) == 2:
        means = [side[1:].mean(axis=1) for side in sides]
        examples -= 2 * float(np.cov(*means)[0, 1])
    return _Uncertainty(
        seeds=sum(parts),
        examples=max(0.0, examples),
        freedom=sum(parts) ** 2 / spread if spread else 1.0,
    )


def _seed_part(means: Array) -> float:
    return float(means.var(ddof=1)) / len(means) if len(means) > 1 else 0.0


def _shared_variance(replicates: Array) -> float:
    """Mean covariance of two different columns; the variance of the one if there is but one."""
    num_seeds = replicates.shape[1]
    own = float(replicates.var(axis=0, ddof=1).sum())
    if num_seeds == 1:
        return own
    of_sum = float(replicates.sum(axis=1).var(ddof=1))
    return (of_sum - own) / (num_seeds * (num_seeds - 1))


def _check(first: Array, second: Array, paired: bool) -> None:
    check_finite(scores=first)
    check_finite(scores=second)
    shapes = list(first.shape), list(second.shape)
    fitting = len(first) == len(second) > 2 and first.shape[1] and second.shape[1]
    if not fitting or (paired and first.shape != second.shape):
        alike = "the same" if paired else "some"
        raise ValueError(
            "arms need scores [1 + num_replicates, num_seeds] on the same two or more resamples "
            f"and of {alike} seeds, but have {shapes[0]} and {shapes[1]}"
        )
