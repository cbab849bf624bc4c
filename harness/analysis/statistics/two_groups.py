"""Runs of an arm that fall into two groups, such as those that learn a task and those that do not.

The rule, which simulations validate (docs/statistics.md, "Runs in two groups"): the runs of an arm
fall into two groups if, in the order of their scores, two neighbours are more than APART times the
typical deviation apart. The typical deviation is the median over all runs of all arms of their
distance from the median of their arm, where an arm with an odd number of runs leaves out the run
that is its median. The median over all arms (a pooled MAD) is not moved by a few runs that fail,
and is known where one arm's runs are too few for a spread of their own.

An arm may have runs of one group only by luck, while other arms show that there are two. Where
there are two groups in a table, or the seeds of two arms are too few to rely on, these are
therefore taken to spread at least as much as all arms do on average: `welch` with `least` =
`mean_variance`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

Array = np.ndarray

APART = 6.0
"""Typical deviations between two neighbouring runs above which these belong to two groups: 4 robust
standard deviations, at 1.48 typical deviations each."""
ROUNDING = 1e-9
"""Runs whose scores differ by less are equal."""
LEAST_RUNS = 3
"""Runs of an arm that are needed to tell two groups from spread."""


LEAST_FREEDOM = 3
"""Degrees of freedom below which the variance of two arms alone is not relied on: 2 seeds, or 3 of
arms with the same checkpoints, which are often alike by chance where runs fail."""


@dataclass(frozen=True)
class TwoGroups:
    """The two groups of an arm's runs."""

    arm: str
    few: int
    """Runs in the smaller group."""
    runs: int
    distance: float
    """Between the means of both groups, in the unit of the scores."""
    beside: tuple[str, ...] = ()
    """Arms with the same checkpoints, this one included: the groups are those of this arm's scores
    minus their mean, or of two arms, of the first minus the second. Empty: of the arm's own."""


@dataclass(frozen=True)
class MeanVariance:
    """A variance between runs, estimated from several arms."""

    value: float
    freedom: float
    """Degrees of freedom."""

    def times(self, factor: float) -> "MeanVariance":
        """The variance of the runs times the square root of `factor`."""
        return replace(self, value=self.value * factor)


@dataclass(frozen=True)
class Split:
    """Runs in two groups, of the arms of a difference."""

    groups: tuple[TwoGroups, ...]


def two_groups(arms: Mapping[str, Array]) -> dict[str, TwoGroups]:
    """Arm to the two groups of its runs, of the arms whose runs fall into two groups.

    Args:
        arms: arm to the scores [num_seeds] of its runs.
    """
    ordered = {arm: np.sort(scores) for arm, scores in _varying(arms).items()}
    if not ordered:
        return {}
    deviations = np.concatenate([_deviations(scores) for scores in ordered.values()])
    # Of scores of few values, such as those at a maximum, most may equal their median.
    typical = float(np.median(deviations)) or float(deviations.mean())
    found = {}
    for arm, scores in ordered.items():
        gaps = np.diff(scores)
        at = int(gaps.argmax()) + 1
        if len(scores) >= LEAST_RUNS and gaps[at - 1] > APART * typical:
            distance = float(scores[at:].mean() - scores[:at].mean())
            found[arm] = TwoGroups(arm, min(at, len(scores) - at), len(scores), distance)
    return found


def paired_groups(arms: Mapping[str, Array]) -> dict[str, TwoGroups]:
    """As `two_groups`, of arms with the same checkpoints: the groups of their differences.

    Args:
        arms: arm to [num_seeds], as for `without_seed_effects`.
    """
    names = tuple(arms)
    if len(names) == 2:
        first, second = arms.values()
        found = two_groups({names[0]: first - second})
        return {name: replace(one, beside=names) for one in found.values() for name in names}
    found, scale = two_groups(without_seed_effects(arms)), _scale(len(names))
    return {
        arm: replace(one, distance=one.distance / scale, beside=names) for arm, one in found.items()
    }


def mean_variance(arms: Mapping[str, Array]) -> MeanVariance:
    """Mean over arms of the unbiased variance of their runs, with the degrees of freedom of
    Satterthwaite (1946, "An approximate distribution of estimates of variance components"), which
    are few where the variance is that of few arms. Arms whose runs are equal are left out.

    Args:
        arms: arm to the scores [num_seeds] of its runs.
    """
    varying = list(_varying(arms).values())
    if not varying:
        return MeanVariance(0.0, 1.0)
    variances = np.array([scores.var(ddof=1) for scores in varying])
    freedoms = np.array([len(scores) - 1 for scores in varying])
    freedom = variances.sum() ** 2 / (variances**2 / freedoms).sum()
    return MeanVariance(float(variances.mean()), float(freedom))


def without_seed_effects(arms: Mapping[str, Array]) -> dict[str, Array]:
    """The scores of arms with the same checkpoints, less the mean of each checkpoint.

    The scale is such that twice the mean variance of all arms is the mean variance of the
    difference between two arms, over all pairs.

    Args:
        arms: arm to [num_seeds], with the same checkpoints in one order; at least two arms.
    """
    scores = np.stack(list(arms.values()))
    rest = (scores - scores.mean(axis=0)) * _scale(len(scores))
    return dict(zip(arms, rest, strict=True))


def _scale(num_arms: int) -> float:
    return float(np.sqrt(num_arms / (num_arms - 1)))


def _varying(arms: Mapping[str, Array]) -> dict[str, Array]:
    return {arm: scores for arm, scores in arms.items() if np.ptp(scores) > ROUNDING}


def _deviations(ordered: Array) -> Array:
    deviations = np.abs(ordered - np.median(ordered))
    return np.delete(deviations, len(ordered) // 2) if len(ordered) % 2 else deviations
