"""The tests of `harness.analysis.comparison` on many simulated tables of scores at once."""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.special import stdtr
from scipy.stats import false_discovery_control

from harness.analysis.statistics.two_groups import APART, LEAST_FREEDOM, LEAST_RUNS, ROUNDING

ARMS = 8
PAIRS = np.array(list(combinations(range(ARMS), 2)))
LEVEL = 0.05


@dataclass(frozen=True)
class Decisions:
    """p of all pairs of arms in each trial, [num_trials, num_pairs]."""

    welch: np.ndarray
    shipped: np.ndarray
    groups: np.ndarray
    """[num_trials, num_arms], whether runs of an arm fall into two groups."""


def decide(scores: np.ndarray, pairs: np.ndarray) -> Decisions:
    """The tests of all pairs of arms, as `harness.analysis.comparison` applies them to arms that
    are not paired.

    Args:
        scores: [num_trials, num_arms, num_seeds].
        pairs: [num_pairs, 2] places of arms.
    """
    num_seeds = scores.shape[-1]
    variances, freedom = scores.var(-1, ddof=1), num_seeds - 1.0
    differences = scores.mean(-1)[:, pairs[:, 0]] - scores.mean(-1)[:, pairs[:, 1]]
    groups = two_groups(scores)
    varying = (np.ptp(scores, axis=-1) > 0).sum(-1, keepdims=True)
    mean = variances.sum(-1, keepdims=True) / np.maximum(varying, 1)
    of_mean = freedom * variances.sum(-1, keepdims=True) ** 2
    of_mean /= (variances**2).sum(-1, keepdims=True)
    less = (variances < mean) & (groups.any(-1, keepdims=True) | (2 * freedom < LEAST_FREEDOM))
    own = np.full_like(variances, freedom)
    alone = _p_values(differences, variances / num_seeds, own, pairs)
    least = np.where(less, mean, variances) / num_seeds
    floored = _p_values(differences, least, np.where(less, np.maximum(of_mean, own), own), pairs)
    return Decisions(alone, np.maximum(alone, floored), groups)


def decide_paired(scores: np.ndarray, pairs: np.ndarray) -> Decisions:
    """As `decide`, of arms with the same checkpoints."""
    num_arms, num_seeds = scores.shape[1:]
    own = num_seeds - 1.0
    rest = scores - scores.mean(axis=1, keepdims=True)
    groups, of_rest = two_groups(rest), rest.var(-1, ddof=1)
    least = 2 * num_arms / (num_arms - 1) * of_rest.mean(-1, keepdims=True)
    freedom = of_rest.sum(-1, keepdims=True) ** 2 / (of_rest**2).sum(-1, keepdims=True)
    freedom = np.maximum(own * freedom * (1 - 1 / num_arms), own)
    found = scores[:, pairs[:, 0]] - scores[:, pairs[:, 1]]
    variances, size = found.var(-1, ddof=1), np.abs(found.mean(-1))
    less = (variances < least) & (groups.any(-1, keepdims=True) | (own < LEAST_FREEDOM))
    variances = np.where(size < ROUNDING, 1.0, variances)  # arms without spread, which are equal
    alone = 2 * stdtr(own, -size / np.sqrt(variances / num_seeds))
    taken = np.where(less, least, variances) / num_seeds
    floored = 2 * stdtr(np.where(less, freedom, own), -size / np.sqrt(taken))
    return Decisions(alone, np.maximum(alone, floored), groups)


def _p_values(
    differences: np.ndarray, variances: np.ndarray, freedoms: np.ndarray, pairs: np.ndarray
) -> np.ndarray:
    """Welch's test.

    Args:
        variances, freedoms: [num_trials, num_arms], of the means of arms.
    """
    first, second = (variances[:, pairs[:, side]] for side in (0, 1))
    spread = sum((variances**2 / freedoms)[:, pairs[:, side]] for side in (0, 1))
    with np.errstate(invalid="ignore"):  # two arms without spread, which are equal
        freedom = (first + second) ** 2 / spread
        statistic = np.abs(differences) / np.sqrt(first + second)
    return np.where(differences == 0, 1.0, 2 * stdtr(freedom, -statistic))


def two_groups(scores: np.ndarray) -> np.ndarray:
    """[num_trials, num_arms]: whether runs of an arm fall into two groups.

    Args:
        scores: [num_trials, num_arms, num_seeds].
    """
    ordered = np.sort(scores, axis=-1)
    num_seeds = scores.shape[-1]
    deviations = np.abs(ordered - np.median(ordered, axis=-1, keepdims=True))
    if num_seeds % 2:
        deviations = np.delete(deviations, num_seeds // 2, axis=-1)
    varying = np.ptp(scores, axis=-1, keepdims=True) > 0
    deviations = np.where(varying, deviations, np.nan).reshape(len(scores), -1)
    typical = np.nanmedian(deviations, axis=-1)
    gaps = np.diff(ordered, axis=-1).max(axis=-1)
    return np.asarray((gaps > APART * typical[:, None]) & (num_seeds >= LEAST_RUNS))


def several_ranks(scores: np.ndarray, p_values: np.ndarray) -> np.ndarray:
    """[num_trials]: whether an arm of a board is separated from the best."""
    adjusted = false_discovery_control(p_values, axis=-1)
    best = scores.mean(-1).argmax(-1)[:, None]
    with_best = (best == PAIRS[:, 0]) | (best == PAIRS[:, 1])
    return np.asarray(((adjusted < LEVEL) & with_best).any(-1))
