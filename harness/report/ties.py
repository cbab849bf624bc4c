"""Ranks with ties: arms that the data does not tell apart share one."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from harness.leaderboard.tables import Row, Score, Table
from harness.report.verdict import AVERAGE, LEVEL, ArmRuns, differences
from harness.statistics.multiple import tie_groups

MOST_ROWS = 60
"""With more rows than this their pairs are not compared: it would take minutes."""
RANKING = (
    f"Arms share a rank where the {100 * LEVEL:.0f} % interval of their difference from the best "
    "of them (Welch's, of seeds and examples) includes zero; one pretraining seed has no rank, for "
    "it cannot show how far two runs of one arm lie apart. Bold is what shares the first rank of "
    "its column, where others do not."
)


def with_ties(
    table: Table,
    runs: Mapping[str, ArmRuns],
    paired: Callable[[str, str], bool] = lambda first, second: False,
) -> Table:
    """`table` with dense ranks in which arms that are not told apart are tied, and the scores of
    each column's first group as its best; as it was where there are more than MOST_ROWS rows. Rows
    of one pretraining seed have no rank, and are nobody's best.

    Args:
        runs: the name of each row to its runs by task (`harness.report.verdict.arm_runs`).
        paired: whether two rows start from the same checkpoints.
    """
    if not table.rows or len(table.rows) > MOST_ROWS:
        return table
    separable = _separable(table, runs, paired)
    averages = _ranks(table.rows, [row.average for row in table.rows], separable[AVERAGE])
    columns = [
        _ranks(table.rows, [row.scores[place] for row in table.rows], separable[column.name])
        for place, column in enumerate(table.columns)
    ]
    best = [_best(averages), *map(_best, columns)]
    rows = [
        replace(_marked(row, [found[i] for found in best]), rank=averages[i])
        for i, row in enumerate(table.rows)
    ]
    return replace(table, rows=tuple(rows), ranking=RANKING)


def _separable(
    table: Table, runs: Mapping[str, ArmRuns], paired: Callable[[str, str], bool]
) -> dict[str, np.ndarray]:
    """Column, and AVERAGE, to [rows, rows]: whether two rows are told apart, by what a verdict
    takes: an interval without zero, and two pretraining seeds of each."""
    size = len(table.rows)
    names = [AVERAGE, *(column.name for column in table.columns)]
    told = {name: np.zeros((size, size), dtype=bool) for name in names}
    for (i, first), (j, second) in combinations(enumerate(table.rows), 2):
        if not (_judged(first) and _judged(second)):
            continue
        one, other = (runs.get(row.name, {}) for row in (first, second))
        found = differences(one, other, table, paired=paired(first.name, second.name))
        for name, difference in found.items():
            apart = difference is not None and (difference.low > 0 or difference.high < 0)
            told[name][i, j] = told[name][j, i] = apart
    return told


def _judged(row: Row) -> bool:
    """Whether it has the pretraining seeds that a verdict asks for."""
    return row.pretrain_seeds > 1


def _ranks(
    rows: Sequence[Row], scores: Sequence[Score | None], separable: np.ndarray
) -> list[int | None]:
    values = [
        score.mean if score and _judged(row) else np.nan
        for row, score in zip(rows, scores, strict=True)
    ]
    return [None if np.isnan(rank) else int(rank) for rank in tie_groups(values, separable)]


def _best(ranks: Sequence[int | None]) -> list[bool]:
    """The first group, unless it is the only one."""
    several = any(rank and rank > 1 for rank in ranks)
    return [several and rank == 1 for rank in ranks]


def _marked(row: Row, best: Sequence[bool]) -> Row:
    """The row with its average's and its columns' scores marked."""
    average, *scores = (
        replace(score, best=mark) if score else None
        for score, mark in zip((row.average, *row.scores), best, strict=True)
    )
    return replace(row, average=average, scores=tuple(scores))
