"""The differences between two arms, with their uncertainty."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, TypeVar

import numpy as np

from harness.analysis.averages import Term
from harness.analysis.columns import SuiteColumns, combine
from harness.analysis.comparison.resampling import ArmRuns, cell_name
from harness.analysis.statistics.bootstrap import Difference, common_seeds
from harness.analysis.statistics.multiple_testing import benjamini_hochberg
from harness.analysis.statistics.welch import seed_means, welch
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
    """A function that compares two arms by name, and computes each pair once, in either order.

    Args:
        runs: arm to its runs by task (`harness.analysis.comparison.resampling.arm_runs`).
        paired: whether two arms start from the same checkpoints.
    """

    @cache
    def found(first: str, second: str) -> Differences:
        one, other, same = runs.get(first, {}), runs.get(second, {}), paired(first, second)
        of_columns = {
            column.name: None
            if one.get(column.task) is other.get(column.task)
            else _difference(one, other, [(column,)], same)
            for column in columns.columns
        }
        return of_columns | {AVERAGE: _difference(one, other, columns.terms, same)}

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
    if column.task not in arm:
        return None
    scores = _seed_scores({column.task: arm[column.task]}, [column])
    if not scores:
        return None
    found = 100 * scores[column]
    difference = welch(found, np.full_like(found, level), paired=True, level=LEVEL)
    return difference.within(100 - _width(column) - level, 100 - level)


def _difference(
    first: ArmRuns, second: ArmRuns, terms: Sequence[Term], paired: bool
) -> Difference | None:
    columns = [column for term in terms for column in term]
    tasks = {column.task for column in columns}
    if not tasks <= first.keys() & second.keys():
        return None
    sides = [{task: arm[task] for task in tasks} for arm in (first, second)]
    seeds = [common_seeds(side) for side in sides]
    scores = [_seed_scores(side, columns) for side in sides]
    if not all(map(len, seeds)) or not all(scores):
        return None
    means = [100 * combine(terms, found) for found in scores]
    found = welch(*means, paired=paired and np.array_equal(seeds[0], seeds[1]), level=LEVEL)
    most = float(combine(terms, {column: np.array(_width(column)) for column in columns}))
    return found.within(-most, most)


def _width(column: Column) -> float:
    """The largest possible score x 100 of a column minus the smallest."""
    return 100 * float(np.mean([1 - METRICS[metric].least for metric in column.metrics]))


def _seed_scores(arm: ArmRuns, columns: Sequence[Column]) -> dict[Column, np.ndarray]:
    """Column to its score [1 + REPLICATES, num_seeds]; empty if the arm lacks a metric."""
    cells = seed_means(arm)
    wanted = {c: [(c.task, cell_name(c.split, metric)) for metric in c.metrics] for c in columns}
    if not all(cell in cells for found in wanted.values() for cell in found):
        return {}
    return {c: np.mean([cells[cell] for cell in found], axis=0) for c, found in wanted.items()}
