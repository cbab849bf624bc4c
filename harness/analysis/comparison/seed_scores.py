"""The scores of arms by pretraining seed, and the spread between seeds that a comparison takes."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from harness.analysis.averages import Term
from harness.analysis.columns import combine
from harness.analysis.comparison.resampling import ArmRuns, cell_name
from harness.analysis.statistics.bootstrap import Array, Difference, common_seeds
from harness.analysis.statistics.two_groups import (
    LEAST_FREEDOM,
    MeanVariance,
    Split,
    TwoGroups,
    mean_variance,
    paired_groups,
    two_groups,
    without_seed_effects,
)
from harness.analysis.statistics.welch import contrast_over_seeds, seed_means
from harness.tasks.task import Column


@dataclass(frozen=True)
class SeedScores:
    """The scores x 100 of an arm in a column or an average."""

    seeds: Array
    """[num_seeds], the pretraining seeds that all its tasks have."""
    scores: Array
    """[1 + REPLICATES, num_seeds]; row 0 is the observed sample."""


def seed_scores(arm: ArmRuns, terms: Sequence[Term]) -> SeedScores | None:
    """The scores of an arm in the mean of terms; null if it lacks a task, metric or seed."""
    columns = [column for term in terms for column in term]
    tasks = {column.task for column in columns}
    if not tasks <= arm.keys():
        return None
    own = {task: arm[task] for task in tasks}
    seeds = common_seeds(own)
    cells = seed_means(own) if len(seeds) else {}
    if not all((column.task, cell) in cells for column in columns for cell in _cells(column)):
        return None
    means = {c: np.mean([cells[c.task, cell] for cell in _cells(c)], axis=0) for c in columns}
    return SeedScores(seeds, 100 * combine(terms, means))


def _cells(column: Column) -> list[str]:
    return [cell_name(column.split, metric) for metric in column.metrics]


@dataclass(frozen=True)
class Spread:
    """The spread between seeds in a table of arms."""

    groups: Mapping[str, TwoGroups]
    """Of the arms whose runs fall into two groups; of paired arms, whose differences do."""
    variance: MeanVariance
    sides: int = 2
    """Variances that a difference estimates from its seeds: of each arm; 1 of paired arms."""

    def least(self, *arms: Array) -> MeanVariance | None:
        """The variance between seeds that each of the arms has at least: `variance` where runs of
        an arm in the table fall into two groups, as these may show one of them by chance, or where
        the variance of two arms is known from fewer than LEAST_FREEDOM degrees of freedom.

        Args:
            arms: scores [num_seeds] of the arms of a difference.
        """
        few = self.sides * (min(map(len, arms)) - 1) < LEAST_FREEDOM
        return self.variance if self.groups or few else None

    def split(self, arms: Iterable[str]) -> Split | None:
        """The groups of the arms of a difference; null if none has two."""
        found = dict.fromkeys(self.groups[arm] for arm in arms if arm in self.groups)
        return Split(tuple(found)) if found else None


def spread(arms: Mapping[str, Array]) -> Spread:
    """The spread between seeds of arms; those with one seed have none.

    Args:
        arms: arm to its scores [num_seeds].
    """
    return Spread(two_groups(arms), mean_variance(arms))


def paired_spread(arms: Mapping[str, Array]) -> Spread:
    """The spread between seeds of the differences between arms with the same checkpoints.

    Args:
        arms: two arms or more to their scores [num_seeds].
    """
    rest = without_seed_effects(arms)
    of_arms, lost = mean_variance(rest), 1 / len(rest)  # the mean of all arms is estimated
    differences = MeanVariance(2 * of_arms.value, (1 - lost) * of_arms.freedom)
    return Spread(paired_groups(arms), differences, sides=1)


def compared_by_seeds(values: Mapping[str, Array], level: float) -> Callable[..., Difference]:
    """A function from the weights of unpaired arms, and optionally a margin and a bound, to the sum
    of their means times the weights, as `contrast_over_seeds` returns it.

    Args:
        values: arm to one value per seed, such as held-out losses [num_seeds].
    """
    known = spread(values)

    def compared(
        weights: Mapping[str, float], margin: float | None = None, bound: float = 0.0
    ) -> Difference:
        arms = {arm: values[arm] for arm in weights}
        least = known.least(*arms.values())
        found = contrast_over_seeds(
            [weight * arms[arm] for arm, weight in weights.items()],
            level,
            [least and least.times(weight**2) for weight in weights.values()],
            margin,
            bound,
        )
        return found.with_split(known.split(weights))

    return compared
