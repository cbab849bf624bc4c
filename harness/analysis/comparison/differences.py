"""The differences between two arms, with their uncertainty."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import combinations
from math import isclose
from typing import Any, TypeVar

import numpy as np

from harness.analysis.averages import Term
from harness.analysis.columns import SuiteColumns, combine
from harness.analysis.comparison.resampling import ArmRuns
from harness.analysis.comparison.seed_scores import (
    SeedScores,
    Spread,
    paired_spread,
    seed_scores,
    spread,
)
from harness.analysis.statistics.bootstrap import Array, Difference
from harness.analysis.statistics.multiple_testing import benjamini_hochberg
from harness.analysis.statistics.two_groups import MeanVariance
from harness.analysis.statistics.welch import contrast, welch
from harness.experiment.experiment import Experiment
from harness.tasks.metrics import METRICS
from harness.tasks.task import Column

LEVEL = 0.95
MIN_SEEDS = 2
"""Pretraining seeds per arm below which the variation between runs is unknown."""
MAX_ROWS = 60
"""With more arms than this, not all pairs are compared, because it would take minutes."""
AVERAGE = "average"
"""Name of the suite's average among the columns."""

Differences = Mapping[str, Difference | None]
"""Column, or AVERAGE, to the difference of scores x 100; null if an arm lacks a score, and for
columns in which both arms have the same runs."""
Compared = Callable[[str, str], Differences]
"""Names of two arms to the differences of the first minus the second."""
Key = TypeVar("Key")


class Comparer:
    """Compares arms in the columns and the average of a suite, and each pair once, in either order.
    The spread between seeds of all arms counts
    (`harness.analysis.comparison.seed_scores.Spread`)."""

    def __init__(
        self,
        runs: Mapping[str, ArmRuns],
        columns: SuiteColumns,
        paired: Callable[[str, str], bool],
        coverage: float = LEVEL,
    ) -> None:
        """
        Args:
            runs: arm to its runs by task (`harness.analysis.comparison.resampling.arm_runs`).
            paired: whether two arms start from the same checkpoints.
            coverage: of the intervals.
        """
        self._runs, self._columns, self._paired = runs, columns.columns, paired
        self._coverage = coverage
        terms = {column.name: [(column,)] for column in columns.columns} | {AVERAGE: columns.terms}
        self.outcomes = {
            name: Outcome(runs, of, paired, coverage=coverage) for name, of in terms.items()
        }
        self._found: dict[tuple[str, str], Differences] = {}

    def gap(self, first: str, second: str) -> "Outcome":
        """One column minus another, such as a split that resembles the training text minus one
        that does not."""
        columns = {column.name: column for column in self._columns}
        minus = [(columns[second],)]
        return Outcome(self._runs, [(columns[first],)], self._paired, minus, self._coverage)

    def __call__(self, first: str, second: str) -> Differences:
        """The differences of the first arm minus the second."""
        if first > second:
            return {name: one and one.turned for name, one in self(second, first).items()}
        if (first, second) not in self._found:
            self._found[first, second] = self._compared(first, second)
        return self._found[first, second]

    def _compared(self, first: str, second: str) -> Differences:
        one, other = self._runs.get(first, {}), self._runs.get(second, {})
        shared = {c.name for c in self._columns if one.get(c.task) is other.get(c.task)}
        return {
            name: None if name in shared else outcome.contrast({first: 1, second: -1})
            for name, outcome in self.outcomes.items()
        }


def dependent_runs(
    experiment: Experiment, differences: Mapping[str, Mapping[str, Any]]
) -> Callable[[str, str], bool]:
    """A function that returns whether the runs of two arms with equal pretraining seeds depend on
    each other: they start from the same pretrained models, or belong to the same micro-world.

    Args:
        differences: as for `same_checkpoints`.
    """
    if experiment.seeds.in_worlds:
        return lambda first, second: True
    return same_checkpoints(differences)


def same_checkpoints(
    differences: Mapping[str, Mapping[str, Any]],
) -> Callable[[str, str], bool]:
    """A function that returns whether two arms start from the same pretrained models, as no
    pretraining field differs.

    Args:
        differences: dotted path to {arm: value} of each field in which arms differ.
    """
    fields = [of for path, of in differences.items() if path.startswith("pretrain.")]
    return lambda first, second: all(of.get(first) == of.get(second) for of in fields)


def screened(found: Mapping[Key, Difference | None], unseen: int = 0) -> dict[Key, float]:
    """p by Benjamini-Hochberg of all differences with MIN_SEEDS or more. The others are excluded:
    their p is small because it concerns single checkpoints, and would reduce that of the rest.

    Args:
        unseen: number of further differences that were not computed; they count with p = 1.
    """
    judged = {key: one.p_value for key, one in found.items() if one and enough_seeds(one)}
    adjusted = benjamini_hochberg([*judged.values(), *[1.0] * unseen])
    return dict(zip(judged, map(float, adjusted), strict=False))


def enough_seeds(found: Difference) -> bool:
    """Whether both arms have at least MIN_SEEDS pretraining seeds."""
    return found.num_seeds >= MIN_SEEDS


class Outcome:
    """A column, an average, or a gap between two of them, in which arms are compared."""

    def __init__(
        self,
        runs: Mapping[str, ArmRuns],
        terms: Sequence[Term],
        paired: Callable[[str, str], bool],
        minus: Sequence[Term] = (),
        coverage: float = LEVEL,
    ) -> None:
        """Args: as for `Comparer`; the outcome is the mean of `terms`, minus that of `minus`."""
        self._runs, self.terms, self._paired = runs, tuple(terms), paired
        self._minus, self._coverage = tuple(minus), coverage
        self._of_groups: dict[tuple[str, ...], Spread] = {}

    def contrast(
        self, weights: Mapping[str, float], margin: float | None = None, bound: float = 0.0
    ) -> Difference | None:
        """The sum of the arms' scores x 100 times their weights; null if an arm lacks a score. Arms
        with the same checkpoints are compared seed by seed.

        Args:
            margin, bound: as for `harness.analysis.statistics.welch.contrast`.
        """
        if not weights.keys() <= self._known.keys():
            return None
        groups = list(self._same_checkpoints(weights))
        spreads = [self._spread_within(weights, group) for group in groups]
        found = contrast(
            [self._weighted_sum(weights, group) for group in groups],
            self._coverage,
            [self._least(*of, weights) for of in zip(groups, spreads, strict=True)],
            margin,
            bound,
        )
        known = spreads[0] if len(groups) == 1 else self._spread
        most = self._width * sum(map(abs, weights.values())) / 2
        return found.within(-most, most).with_split(known.split(weights))

    def are_same(self, arms: Iterable[str]) -> bool:
        """Whether two of the arms have equal scores in all runs and resamples: the same models."""
        known = [self._known[arm].scores for arm in arms if arm in self._known]
        return any(np.array_equal(one, other) for one, other in combinations(known, 2))

    def observed(self, arm: str) -> Array:
        """The scores x 100 of an arm, [num_seeds]; empty if it lacks one."""
        return self._known[arm].scores[0] if arm in self._known else np.zeros(0)

    def above(self, arm: str, level: float) -> Difference | None:
        """The score of an arm minus a fixed level, both x 100; null if it lacks a score."""
        if not (found := self._known.get(arm)):
            return None
        fixed = np.full_like(found.scores, level)
        least = self._spread.least(found.scores[0])
        coverage = self._coverage
        difference = welch(found.scores, fixed, paired=True, level=coverage, least=least)
        highest = _mean_width(self._minus) if self._minus else 100.0
        difference = difference.within(highest - self._width - level, highest - level)
        return difference.with_split(self._spread.split([arm]))

    @cached_property
    def _width(self) -> float:
        """The largest possible score x 100 minus the smallest."""
        return sum(map(_mean_width, filter(None, (self.terms, self._minus))))

    def _weighted_sum(self, weights: Mapping[str, float], group: Sequence[str]) -> Array:
        scores = np.stack([self._known[arm].scores for arm in group])
        return np.tensordot([weights[arm] for arm in group], scores, axes=1)

    def _observed(self, arms: Iterable[str]) -> dict[str, Array]:
        return {arm: self._known[arm].scores[0] for arm in arms}

    def _same_checkpoints(self, arms: Iterable[str]) -> Iterator[list[str]]:
        """The arms in groups with the same checkpoints."""
        rest = list(arms)
        while rest:
            same = [arm for arm in rest if arm in self._groups[rest[0]]]
            yield same
            rest = [arm for arm in rest if arm not in same]

    def _spread_within(self, weights: Mapping[str, float], group: Sequence[str]) -> Spread:
        """The spread between seeds of the arms of a group: of their differences, if it is their
        differences that count."""
        total = sum(weights[arm] for arm in group)
        if len(group) == 1 or not isclose(total, 0, abs_tol=1e-9):
            return self._spread
        return self._paired_spread(self._groups[group[0]])

    def _least(
        self, group: Sequence[str], within: Spread, weights: Mapping[str, float]
    ) -> MeanVariance | None:
        """The variance between seeds that the weighted sum of a group has at least."""
        is_paired = within is not self._spread
        found = within.least(*self._observed(group if is_paired else weights).values())
        squares, total = (sum(weights[arm] ** power for arm in group) for power in (2, 1))
        # The spread of paired arms is that of the difference of two, whose weights are 1 and -1;
        # other weights of arms that depend on each other may add up.
        return found and found.times(squares / 2 if is_paired else max(squares, total**2))

    @cached_property
    def _known(self) -> dict[str, SeedScores]:
        found = {name: self._scores(arm) for name, arm in self._runs.items()}
        return {name: scores for name, scores in found.items() if scores}

    def _scores(self, arm: ArmRuns) -> SeedScores | None:
        """Null if the arm lacks a score, or the parts of a gap have other seeds."""
        found = seed_scores(arm, self.terms)
        if not self._minus or not found:
            return found
        other = seed_scores(arm, self._minus)
        if not other or not np.array_equal(found.seeds, other.seeds):
            return None
        return SeedScores(found.seeds, found.scores - other.scores)

    @cached_property
    def _spread(self) -> Spread:
        return spread({name: found.scores[0] for name, found in self._known.items()})

    @cached_property
    def _groups(self) -> dict[str, tuple[str, ...]]:
        """Arm to the arms with its checkpoints, itself included."""
        return {
            first: tuple(
                name
                for name, found in self._known.items()
                if name == first
                or (self._paired(first, name) and np.array_equal(found.seeds, one.seeds))
            )
            for first, one in self._known.items()
        }

    def _paired_spread(self, group: tuple[str, ...]) -> Spread:
        if group not in self._of_groups:
            self._of_groups[group] = paired_spread({n: self._known[n].scores[0] for n in group})
        return self._of_groups[group]


def _mean_width(terms: Sequence[Term]) -> float:
    widths = {column: np.array(_width(column)) for term in terms for column in term}
    return float(combine(terms, widths))


def _width(column: Column) -> float:
    """The largest possible score x 100 of a column minus the smallest."""
    return 100 * float(np.mean([1 - METRICS[metric].least for metric in column.metrics]))
