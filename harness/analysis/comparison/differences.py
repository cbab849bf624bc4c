"""The differences between two arms, with their uncertainty."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property
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
from harness.analysis.statistics.bootstrap import Difference
from harness.analysis.statistics.multiple_testing import benjamini_hochberg
from harness.analysis.statistics.welch import welch
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


def comparer(
    runs: Mapping[str, ArmRuns], columns: SuiteColumns, paired: Callable[[str, str], bool]
) -> Compared:
    """A function that compares two arms by name, and computes each pair once, in either order. The
    spread between seeds of all arms counts (`harness.analysis.comparison.seed_scores.Spread`).

    Args:
        runs: arm to its runs by task (`harness.analysis.comparison.resampling.arm_runs`).
        paired: whether two arms start from the same checkpoints.
    """
    outcomes = {column.name: Outcome(runs, [(column,)], paired) for column in columns.columns}
    average = Outcome(runs, columns.terms, paired)

    @cache
    def found(first: str, second: str) -> Differences:
        one, other = runs.get(first, {}), runs.get(second, {})
        of_columns = {
            column.name: None
            if one.get(column.task) is other.get(column.task)
            else outcomes[column.name].difference(first, second)
            for column in columns.columns
        }
        return of_columns | {AVERAGE: average.difference(first, second)}

    def compared(first: str, second: str) -> Differences:
        if first <= second:
            return found(first, second)
        return {name: one and one.turned for name, one in found(second, first).items()}

    return compared


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


def above_level(arm: ArmRuns, column: Column, level: float) -> Difference | None:
    """The score of an arm in a column minus a fixed level, both x 100; null if it lacks a score."""
    found = seed_scores(arm, [(column,)])
    if not found:
        return None
    fixed = np.full_like(found.scores, level)
    difference = welch(found.scores, fixed, paired=True, level=LEVEL)
    return difference.within(100 - _width(column) - level, 100 - level)


class Outcome:
    """A column or an average, in which arms are compared."""

    def __init__(
        self,
        runs: Mapping[str, ArmRuns],
        terms: Sequence[Term],
        paired: Callable[[str, str], bool],
    ) -> None:
        """Args: as for `comparer`; the outcome is the mean of `terms`."""
        self._runs, self._terms, self._paired = runs, terms, paired
        self._of_groups: dict[tuple[str, ...], Spread] = {}

    def difference(self, first: str, second: str) -> Difference | None:
        """The first arm minus the second; null if one of them lacks a score."""
        one, other = self._known.get(first), self._known.get(second)
        if not one or not other:
            return None
        group = self._groups[first]
        paired = second in group
        known = self._paired_spread(group) if paired else self._spread
        sides = {first: one.scores[0], second: other.scores[0]}
        least = known.least(*sides.values())
        found = welch(one.scores, other.scores, paired=paired, level=LEVEL, least=least)
        widths = {column: np.array(_width(column)) for term in self._terms for column in term}
        most = float(combine(self._terms, widths))
        return found.within(-most, most).with_split(known.split(sides))

    @cached_property
    def _known(self) -> dict[str, SeedScores]:
        found = {name: seed_scores(arm, self._terms) for name, arm in self._runs.items()}
        return {name: scores for name, scores in found.items() if scores}

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


def _width(column: Column) -> float:
    """The largest possible score x 100 of a column minus the smallest."""
    return 100 * float(np.mean([1 - METRICS[metric].least for metric in column.metrics]))
