"""Variance components of scores, and the power of an experiment before it is run."""

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from math import sqrt

import numpy as np
from scipy.special import betaincinv, chdtri, nctdtr, ndtr, stdtrit

from harness.analysis.statistics.bootstrap import Array, check_finite

POWER = 0.8
MAX_SEEDS = 1000
SHARES = 50
"""Number of quantiles that approximate a mean over a beta distribution."""
QUANTILES = 400
"""Number of quantiles that approximate a mean over a chi-square distribution."""


@dataclass(frozen=True)
class Components:
    """Variances of a score, in the unit of the score squared."""

    pretrain: float
    """Between pretraining seeds."""
    finetune: float
    """Between fine-tuning seeds of one pretraining seed."""
    examples: float
    """Of a difference between two arms, due to the draw of the test set."""


def seed_components(scores: Array, pretrain_seeds: Array) -> tuple[float, float]:
    """Variance between pretraining seeds, and between fine-tuning seeds within one: the
    method-of-moments estimates of a one-way random-effects model, not below 0 (Searle, Casella and
    McCulloch 1992, section 3.6). If no seed has two fine-tuning runs, the second is NaN and the
    first includes both.

    Args:
        scores: [num_runs].
        pretrain_seeds: [num_runs].

    Raises:
        ValueError: fewer than two pretraining seeds, or a score that is not finite.
    """
    check_finite(scores=scores)
    groups = [scores[pretrain_seeds == seed] for seed in np.unique(pretrain_seeds)]
    sizes = np.array([len(group) for group in groups])
    if len(groups) < 2:
        raise ValueError(
            "the variance between pretraining seeds needs at least two of them, but there is one"
        )
    means = np.array([group.mean() for group in groups])
    if sizes.max() == 1:
        return float(means.var(ddof=1)), float("nan")
    total = sizes.sum()
    within = sum(float(((group - group.mean()) ** 2).sum()) for group in groups)
    within /= total - len(groups)
    between = float((sizes * (means - scores.mean()) ** 2).sum()) / (len(groups) - 1)
    typical = (total - (sizes**2).sum() / total) / (len(groups) - 1)
    return max(0.0, (between - within) / typical), within


def standard_error(components: Components, num_pretrain: int, num_finetune: int) -> float:
    """Standard error of the difference of two arms' means, for independent arms on the same
    examples.

    Args:
        num_pretrain: pretraining seeds of each arm.
        num_finetune: fine-tuning seeds of each pretraining seed.
    """
    finetune = 0.0 if np.isnan(components.finetune) else components.finetune
    of_arm = components.pretrain / num_pretrain + finetune / (num_pretrain * num_finetune)
    return sqrt(2 * of_arm + components.examples)


def power(noncentrality: float, num_pretrain: int, *, paired: bool, level: float = 0.05) -> float:
    """Probability that `welch` finds a difference, for arms with equal variances and without the
    opposite tail.

    With S seeds per arm, the t statistic is noncentral with 2 S - 2 degrees of freedom. It is
    independent of one arm's share in the sum of both sample variances, which is beta-distributed
    and determines Welch's degrees of freedom; the power is the mean over this share.

    Args:
        noncentrality: the true difference in standard errors.
        num_pretrain: pretraining seeds of each arm, at least 2.
        paired: whether arms start from the same checkpoints.
        level: of the two-sided test.
    """
    own = num_pretrain - 1
    if paired:
        return float(1 - nctdtr(own, noncentrality, stdtrit(own, 1 - level / 2)))
    shares = betaincinv(own / 2, own / 2, (np.arange(SHARES) + 0.5) / SHARES)
    freedom = own / (shares**2 + (1 - shares) ** 2)
    return float(np.mean(1 - nctdtr(2 * own, noncentrality, stdtrit(freedom, 1 - level / 2))))


def equality_power(margin: float, num_pretrain: int, *, paired: bool, level: float = 0.05) -> float:
    """Probability that two one-sided tests confirm that equal arms differ by less than a margin:
    that the interval of coverage 1 - 2 `level` lies within it (Schuirmann 1987). The distributions
    are those of `power`; the estimated variance of the difference is independent of the estimate.

    Args:
        margin: in standard errors of the difference.
        num_pretrain: pretraining seeds of each arm, at least 2.
        paired: whether arms start from the same checkpoints.
        level: of each test.
    """
    own, steps = num_pretrain - 1, (np.arange(SHARES) + 0.5) / SHARES
    shares = np.ones(1) if paired else betaincinv(own / 2, own / 2, steps)
    freedom, total = own / (shares**2 + (1 - shares) ** 2), own if paired else 2 * own
    quantiles = (np.arange(QUANTILES) + 0.5) / QUANTILES
    errors = np.sqrt(chdtri(total, quantiles) / total)  # estimated by true standard error
    left = margin - stdtrit(freedom, 1 - level)[:, None] * errors
    return float(np.maximum(0.0, 2 * ndtr(left) - 1).mean())


def minimum_detectable_difference(
    components: Components,
    num_pretrain: int,
    num_finetune: int,
    *,
    paired: bool = False,
    level: float = 0.05,
    power_wanted: float = POWER,
) -> float:
    """Smallest true difference that is found with power `power_wanted`; infinite with one seed.

    Args:
        paired: whether arms start from the same checkpoints. The result is then an upper bound,
            because the variance that both arms share, which cancels, is unknown beforehand.
    """
    if num_pretrain < 2:
        return float("inf")
    errors = _detected_errors(power, num_pretrain, paired, level, power_wanted)
    return errors * standard_error(components, num_pretrain, num_finetune)


def minimum_margin(
    components: Components,
    num_pretrain: int,
    num_finetune: int,
    *,
    paired: bool = False,
    level: float = 0.05,
    power_wanted: float = POWER,
) -> float:
    """Smallest margin within which two one-sided tests confirm equal arms with power
    `power_wanted`; infinite with one seed. With few seeds it is smaller than the detectable
    difference, as each test has `level`; with many it is larger, as both must reject.

    Args:
        paired: as for `minimum_detectable_difference`.
        level: of each test.
    """
    if num_pretrain < 2:
        return float("inf")
    errors = _detected_errors(equality_power, num_pretrain, paired, level, power_wanted)
    return errors * standard_error(components, num_pretrain, num_finetune)


@cache  # a verdict asks for the same few numbers of seeds again and again, each 20 ms
def _detected_errors(
    of: Callable[..., float], num_pretrain: int, paired: bool, level: float, power_wanted: float
) -> float:
    """The smallest difference or margin, in standard errors, at which a test has a power."""
    low, high = 0.0, 1.0
    while of(high, num_pretrain, paired=paired, level=level) < power_wanted:
        low, high = high, 2 * high
    for _ in range(25):  # bisection
        middle = (low + high) / 2
        found = of(middle, num_pretrain, paired=paired, level=level)
        low, high = (middle, high) if found < power_wanted else (low, middle)
    return high


def seeds_needed(
    components: Components,
    difference: float,
    num_finetune: int,
    *,
    paired: bool = False,
    level: float = 0.05,
    power_wanted: float = POWER,
) -> int | None:
    """Pretraining seeds per arm that are needed to find `difference`; null if MAX_SEEDS do not
    suffice, because the test set is too small."""

    def enough(num_pretrain: int) -> bool:
        found = minimum_detectable_difference(
            components,
            num_pretrain,
            num_finetune,
            paired=paired,
            level=level,
            power_wanted=power_wanted,
        )
        return found <= difference

    numbers = range(2, MAX_SEEDS + 1)
    place = bisect_left(numbers, True, key=enough)  # monotonic in the number of seeds
    return numbers[place] if place < len(numbers) else None
