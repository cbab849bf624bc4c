"""Where the spread of scores comes from, and what a grid can tell apart before it is run."""

from bisect import bisect_left
from dataclasses import dataclass
from math import sqrt

import numpy as np
from scipy.special import betaincinv, nctdtr, stdtrit

from harness.analysis.statistics.bootstrap import Array, check_finite

POWER = 0.8
MAX_SEEDS = 1000
SHARES = 50
"""Points by which a mean over a beta distribution is taken."""


@dataclass(frozen=True)
class Components:
    """Variances of a score, in its own unit squared."""

    pretrain: float
    """Between pretraining seeds."""
    finetune: float
    """Between fine-tuning seeds of one pretraining seed."""
    examples: float
    """Of the mean over the test set that was drawn, of a difference between two arms."""


def seed_components(scores: Array, pretrain_seeds: Array) -> tuple[float, float]:
    """Variance between pretraining seeds, and between fine-tuning seeds within one: the
    method-of-moments estimates of a one-way random-effects model, not below 0 (Searle, Casella and
    McCulloch 1992, section 3.6). The second is NaN where no seed has two fine-tuning runs; then the
    first holds both.

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
        raise ValueError("variance between pretraining seeds needs two of them, but there is one")
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
    """Of the difference of two arms' means, each of so many pretraining seeds with so many
    fine-tuning seeds each, that have nothing in common but the examples."""
    finetune = 0.0 if np.isnan(components.finetune) else components.finetune
    an_arm = components.pretrain / num_pretrain + finetune / (num_pretrain * num_finetune)
    return sqrt(2 * an_arm + components.examples)


def power(noncentrality: float, num_pretrain: int, *, paired: bool, level: float = 0.05) -> float:
    """Chance that `welch` tells arms apart whose true difference is so many standard errors, the
    arms' variances being equal; what lies in the other tail is left out.

    Of two arms the t statistic is noncentral with 2 S - 2 degrees of freedom, and independent of
    the share that one arm has in the sum of both sample variances, which is beta-distributed. On
    that share alone Welch's degrees of freedom depend: the power is the mean over it.
    """
    own = num_pretrain - 1
    if paired:
        return float(1 - nctdtr(own, noncentrality, stdtrit(own, 1 - level / 2)))
    shares = betaincinv(own / 2, own / 2, (np.arange(SHARES) + 0.5) / SHARES)
    freedom = own / (shares**2 + (1 - shares) ** 2)
    return float(np.mean(1 - nctdtr(2 * own, noncentrality, stdtrit(freedom, 1 - level / 2))))


def minimum_detectable_difference(
    components: Components,
    num_pretrain: int,
    num_finetune: int,
    *,
    paired: bool = False,
    level: float = 0.05,
    power_wanted: float = POWER,
) -> float:
    """Smallest true difference that is told apart with this power; infinite with one seed, which
    shows no spread.

    Args:
        paired: whether arms start from the same checkpoints. It is an upper bound then: how far a
            checkpoint moves both arms alike, which cancels, is not known before.
    """
    if num_pretrain < 2:
        return float("inf")
    low, high = 0.0, 1.0
    while power(high, num_pretrain, paired=paired, level=level) < power_wanted:
        low, high = high, 2 * high
    for _ in range(25):  # halves the interval in which the noncentrality lies
        middle = (low + high) / 2
        found = power(middle, num_pretrain, paired=paired, level=level)
        low, high = (middle, high) if found < power_wanted else (low, middle)
    return high * standard_error(components, num_pretrain, num_finetune)


def seeds_needed(
    components: Components,
    difference: float,
    num_finetune: int,
    *,
    paired: bool = False,
    level: float = 0.05,
    power_wanted: float = POWER,
) -> int | None:
    """Pretraining seeds an arm with which `difference` is found; null where no number up to
    MAX_SEEDS does, as the test set alone says too little."""

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
    place = bisect_left(numbers, True, key=enough)  # more seeds never detect less
    return numbers[place] if place < len(numbers) else None
