"""Differences between arms with intervals that keep their coverage with few pretraining seeds.

The variance of a difference of two arms' means has two parts. The part of the seeds is s^2 / S,
with the unbiased variance s^2 of the S means per pretraining seed; it includes the variance of
fine-tuning runs and of single answers. The part of the examples, which all runs share, is the mean
covariance of two different runs over resampled examples. Different runs have independent noise in
single answers, so nothing is counted twice.

The half widths of both parts are added in squares (Howe 1974, "Approximate confidence limits on the
mean of X + Y", JASA 69): for the seeds with Student's quantile and the degrees of freedom of Welch
(1947, "The generalization of Student's problem", Biometrika 34), for the examples with the normal
quantile. A single quantile for both, with Satterthwaite's degrees of freedom, has a coverage of
only 88 % with 2 paired seeds, compared with 96 % here (`benchmarks/calibration.py`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
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
from harness.analysis.statistics.two_groups import MeanVariance
from harness.core.rounding import total

LEAST_P = 1e-12
"""Smaller p-values are returned as 0."""


@dataclass(frozen=True)
class _Uncertainty:
    """Variances of both parts of a difference, and degrees of freedom of the first."""

    seeds: float
    examples: float
    freedom: float

    def half_width(self, level: float) -> float:
        """Half width of the interval with coverage `level`."""
        upper = (1 + level) / 2
        of_seeds = float(stdtrit(self.freedom, upper)) * sqrt(self.seeds) if self.seeds else 0.0
        return hypot(of_seeds, float(ndtri(upper)) * sqrt(self.examples))

    def p_value(self, estimate: float, margin: float | None = None) -> float:
        """1 - level of the widest interval around `estimate` that excludes zero. With a margin, the
        p of the one-sided test for the side of the margin on which `estimate` lies."""
        return self._two_sided(estimate) if margin is None else self._one_sided(estimate, margin)

    def _one_sided(self, estimate: float, margin: float) -> float:
        return self._two_sided(abs(abs(estimate) - margin)) / 2

    def _two_sided(self, estimate: float) -> float:
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
    """(task, cell) to [1 + num_replicates, num_seeds]: mean score over the fine-tuning runs of each
    pretraining seed that all tasks have, in the order of the seeds."""
    seeds = common_seeds(arm)
    return {
        (task, cell): np.stack(
            [scores[:, runs.pretrain_seeds == seed].mean(axis=1) for seed in seeds], axis=1
        )
        for task, runs in arm.items()
        for cell, scores in runs.scores.items()
    }


def welch(
    first: Array,
    second: Array,
    *,
    paired: bool,
    level: float = 0.95,
    least: MeanVariance | None = None,
) -> Difference:
    """First arm minus second arm, with its interval and two-sided p.

    With one seed, an arm has no part of the seeds, and the interval applies to its one checkpoint.

    Args:
        first, second: [1 + num_replicates, num_seeds], from `seed_means` or linear in it, such as
            an average over tasks; row 0 is the observed sample, the others are scores on resampled
            examples, which are the same for both arms.
        paired: whether runs with the same index are dependent, such as runs from the same
            checkpoint. This gives S - 1 degrees of freedom instead of up to 2 S - 2.
        least: variance between seeds that each arm has at least (if paired, their difference), of
            which it may show less by chance. The wider of the intervals with and without it counts.

    Raises:
        ValueError: arms without seeds or with fewer than two resamples, paired arms with different
            numbers of seeds, or a score that is not finite.
    """
    _check(first, second, paired)
    sides = [first - second] if paired else [first, -second]
    return contrast(sides, level, [least] * len(sides))


def contrast(
    sides: Sequence[Array],
    level: float = 0.95,
    least: Sequence[MeanVariance | None] = (),
    margin: float | None = None,
    bound: float = 0.0,
) -> Difference:
    """The sum of the means of independent sides, such as of arms times their weights, with its
    interval and two-sided p.

    Args:
        sides: each [1 + num_replicates, num_seeds], as for `welch`. Arms whose runs with the same
            index are dependent form one side, their weighted sum.
        least: for each side, the variance between seeds that it has at least; empty: none.
        margin: if given, p is that of two one-sided tests for a sum within the margin (Schuirmann
            1987, "A comparison of the two one-sided tests procedure and the power approach",
            Journal of Pharmacokinetics and Biopharmaceutics 15); where the estimate lies beyond the
            margin, that of the test for a sum beyond it.
        bound: without a margin, p is that of a sum which differs from it: of non-inferiority, minus
            its margin.

    Raises:
        ValueError: as `welch` does.
    """
    for side in sides:
        _check(sides[0], side, paired=False)
    estimate = total(side[0].mean() for side in sides)
    bounds = [[None] * len(sides), *([least] if any(least) else [])]
    examples = _example_part(sides)
    known = [_uncertainty(sides, of_sides, examples) for of_sides in bounds]
    widest = max(known, key=lambda one: one.half_width(level))
    half = widest.half_width(level)
    p_value = max(one.p_value(estimate - bound, margin) for one in known)
    num_seeds = min(side.shape[1] for side in sides)
    return Difference(
        estimate,
        estimate - half,
        estimate + half,
        p_value,
        num_seeds,
        seed_variance=widest.seeds,
        example_variance=widest.examples,
        sides=len(sides),
    )


def contrast_over_seeds(
    sides: Sequence[Array],
    level: float = 0.95,
    least: Sequence[MeanVariance | None] = (),
    margin: float | None = None,
    bound: float = 0.0,
) -> Difference:
    """`contrast` of values of seeds alone, without resampled examples.

    Args:
        sides: each [num_seeds], such as held-out losses times the weight of their arm.
        level, least, margin, bound: as for `contrast`.

    Raises:
        ValueError: as `contrast` does.
    """
    whole = [np.tile(side, (3, 1)) for side in sides]  # the sample and two resamples
    return contrast(whole, level, least, margin, bound)


def _uncertainty(
    sides: Sequence[Array], least: Sequence[MeanVariance | None], examples: float
) -> _Uncertainty:
    """Uncertainty of the sum of the means of the sides, given the variance of the examples."""
    parts = [_seed_part(side[0], bound) for side, bound in zip(sides, least, strict=True)]
    spread = sum(part**2 / freedom for part, freedom in parts if part)
    of_seeds = sum(part for part, _ in parts)
    return _Uncertainty(
        seeds=of_seeds,
        examples=examples,
        freedom=of_seeds**2 / spread if spread else 1.0,
    )


def _example_part(sides: Sequence[Array]) -> float:
    """Variance of the sum of the means of the sides over resampled examples."""
    own = sum(_shared_variance(side[1:]) for side in sides)
    means = [side[1:].mean(axis=1) for side in sides]
    shared = sum(float(np.cov(*pair)[0, 1]) for pair in combinations(means, 2))
    return max(0.0, own + 2 * shared)


def _seed_part(means: Array, least: MeanVariance | None) -> tuple[float, float]:
    """Variance of the mean of seeds, and its degrees of freedom; 0 with one seed."""
    own = len(means) - 1
    if not own:
        return 0.0, 1.0
    variance = float(means.var(ddof=1))
    if least and variance < least.value:
        return least.value / len(means), max(least.freedom, own)
    return variance / len(means), own


def _shared_variance(replicates: Array) -> float:
    """Mean covariance of two different columns, or the variance of a single column."""
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
        wanted = "equal numbers of seeds" if paired else "at least one seed"
        raise ValueError(
            "arms need scores [1 + num_replicates, num_seeds] on the same two or more resamples, "
            f"with {wanted}, but have the shapes {shapes[0]} and {shapes[1]}"
        )
