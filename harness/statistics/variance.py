"""Where the spread of scores comes from, and what a grid can tell apart before it is run."""

from bisect import bisect_left
from dataclasses import dataclass
from math import sqrt

import numpy as np
from scipy.special import nctdtr, stdtrit

from harness.statistics.bootstrap import Array

POWER = 0.8
MAX_SEEDS = 1000


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
        ValueError: fewer than two pretraining seeds.
    """
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


def standard_error(
    components: Components, num_pretrain: int, num_finetune: int, *, paired: bool = False
) -> float:
    """Of the difference of two arms' means, each of so many pretraining seeds with so many
    fine-tuning seeds each. Paired seeds are taken to have nothing in common: an upper bound."""
    finetune = 0.0 if np.isnan(components.finetune) else components.finetune
    an_arm = components.pretrain / num_pretrain + finetune / (num_pretrain * num_finetune)
    return sqrt(2 * an_arm + components.examples)


def minimum_detectable_difference(
    components: Components,
    num_pretrain: int,
    num_finetune: int,
    *,
    level: float = 0.05,
    power: float = POWER,
) -> float:
    """Smallest true difference that a two-sided t-test of the arms' pretraining seeds, 2 S - 2
    degrees of freedom, finds with this power; infinite with one seed, which shows no spread.

    The noncentral t distribution is inverted, as in statsmodels' TTestIndPower.
    """
    if num_pretrain < 2:
        return float("inf")
    freedom = 2 * num_pretrain - 2
    critical = float(stdtrit(freedom, 1 - level / 2))
    low, high = 0.0, 100.0
    for _ in range(60):  # halves the interval in which the noncentrality lies
        middle = (low + high) / 2
        found = 1 - nctdtr(freedom, middle, critical)  # the other tail holds less than 1e-6 of it
        low, high = (middle, high) if found < power else (low, middle)
    return high * standard_error(components, num_pretrain, num_finetune)


def seeds_needed(
    components: Components,
    difference: float,
    num_finetune: int,
    *,
    level: float = 0.05,
    power: float = POWER,
) -> int | None:
    """Pretraining seeds an arm with which `difference` is found; null where no number up to
    MAX_SEEDS does, as the test set alone says too little."""

    def enough(num_pretrain: int) -> bool:
        found = minimum_detectable_difference(
            components, num_pretrain, num_finetune, level=level, power=power
        )
        return found <= difference

    numbers = range(2, MAX_SEEDS + 1)
    place = bisect_left(numbers, True, key=enough)  # more seeds never detect less
    return numbers[place] if place < len(numbers) else None
