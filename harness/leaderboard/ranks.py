"""Ranks with ties: arms that the data does not tell apart share one."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from harness.analysis.comparison.differences import (
    AVERAGE,
    LEVEL,
    MAX_ROWS,
    MIN_SEEDS,
    Compared,
    screened,
)
from harness.analysis.statistics.multiple_testing import tie_groups
from harness.leaderboard.table import Row, Score, Table

TOO_MANY = f"there are more than {MAX_ROWS} rows"
RANKING = (
    "Arms share a rank where p of their difference from the best of them (Welch's, of seeds and "
    "examples) is not below 0.05 by Benjamini and Hochberg, among all pairs of rows; one "
    "pretraining seed has no rank, for it cannot show how far two runs of one arm lie apart. Bold "
    "is what shares the first rank of its column, where others do not."
)


def with_ties(table: Table, compared: Compared) -> Table:
    """`table` with dense ranks in which arms that are not told apart are tied, and the scores of
    each column's first group as its best; as it was where there are more than MAX_ROWS rows. Rows
    of one pretraining seed have no rank, and are nobody's best.

    Args:
        compared: compares rows by name (`harness.analysis.comparison.differences.comparer`).
    """
    if not table.rows:
        return table
    if len(table.rows) > MAX_ROWS:
        return without_ties(table, TOO_MANY)
    separable = _separable(table, compared)
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


def without_ties(table: Table, reason: str) -> Table:
    """Ranks by the averages alone, with the reason."""
    return replace(table, ranking=f"{table.ranking[:-1]}: {reason}.")


def _separable(table: Table, compared: Compared) -> dict[str, np.ndarray]:
    """Column, and AVERAGE, to [rows, rows]: whether two rows are told apart, by a p that heeds how
    many pairs of rows there are to pick from."""
    size = len(table.rows)
    names = [AVERAGE, *(column.name for column in table.columns)]
    told = {name: np.zeros((size, size), dtype=bool) for name in names}
    pairs = {
        (i, j): compared(first.name, second.name)
        for (i, first), (j, second) in combinations(enumerate(table.rows), 2)
    }
    for name in names:
        for (i, j), p_value in screened({at: of[name] for at, of in pairs.items()}).items():
            told[name][i, j] = told[name][j, i] = p_value < 1 - LEVEL
    return told


def _judged(row: Row) -> bool:
    """Whether it has the pretraining seeds that a verdict asks for."""
    return row.pretrain_seeds >= MIN_SEEDS


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
