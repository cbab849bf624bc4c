"""Ranks with ties: arms that do not differ significantly share a rank."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from harness.analysis.comparison.differences import (
    AVERAGE,
    LEVEL,
    MAX_ROWS,
    MIN_SEEDS,
    Compared,
    enough_seeds,
    screened,
)
from harness.analysis.statistics.multiple_testing import holm, tie_groups
from harness.leaderboard.table import Row, Score, Table

TOO_MANY = f"there are more than {MAX_ROWS} rows"
RANKING = (
    "Arms share a rank if they do not differ significantly from its highest-scoring arm. The test "
    "is that of the report's intervals (seed and example variance); p is adjusted by Benjamini and "
    "Hochberg's method over all pairs of arms, with threshold 0.05. Where runs of a row fall into "
    "two groups, and with two seeds (three, of rows with the same checkpoints), every row is taken "
    "to vary between seeds at least as much as all rows do on average. Rows with one pretraining "
    "seed have no rank, because the variation between runs is unknown. Bold scores share the first "
    "rank of their column, if not all rows do."
)


def with_ties(table: Table, compared: Compared) -> Table:
    """`table` with dense ranks, in which arms that do not differ significantly are tied, and the
    first rank of each column marked as best. With more than MAX_ROWS rows, ranks stay as they are.
    Rows with one pretraining seed have no rank and are never best.

    Args:
        compared: compares rows by name (`harness.analysis.comparison.differences.comparer`).
    """
    if not table.rows:
        return table
    if len(table.rows) > MAX_ROWS:
        return without_ties(table, TOO_MANY)
    screens = adjusted_p(table, compared)
    separable = {name: _separable(len(table.rows), found) for name, found in screens.items()}
    intervals = rank_intervals(table.rows, compared)
    averages = _ranks(table.rows, [row.average for row in table.rows], separable[AVERAGE])
    columns = [
        _ranks(table.rows, [row.scores[place] for row in table.rows], separable[column.name])
        for place, column in enumerate(table.columns)
    ]
    best = [_best(averages), *map(_best, columns)]
    rows = [
        replace(
            _marked(row, [found[i] for found in best]),
            rank=averages[i],
            rank_interval=intervals.get(row.name),
        )
        for i, row in enumerate(table.rows)
    ]
    return replace(table, rows=tuple(rows), ranking=RANKING)


def without_ties(table: Table, reason: str) -> Table:
    """`table` with its ranks, and the reason why they have no ties."""
    return replace(table, ranking=f"{table.ranking[:-1]}: {reason}.")


def adjusted_p(table: Table, compared: Compared) -> dict[str, dict[tuple[int, int], float]]:
    """Column, or AVERAGE, to (row, later row) to p of their difference, by Benjamini and Hochberg
    over all pairs of rows; without rows of one pretraining seed."""
    pairs = {
        (i, j): compared(first.name, second.name)
        for (i, first), (j, second) in combinations(enumerate(table.rows), 2)
    }
    names = [AVERAGE, *(column.name for column in table.columns)]
    return {name: screened({at: found[name] for at, found in pairs.items()}) for name in names}


def _separable(size: int, p_values: Mapping[tuple[int, int], float]) -> np.ndarray:
    """[size, size]: whether two rows differ significantly."""
    significant = np.zeros((size, size), dtype=bool)
    for (i, j), p_value in p_values.items():
        significant[i, j] = significant[j, i] = p_value < 1 - LEVEL
    return significant


def rank_intervals(rows: Sequence[Row], compared: Compared) -> dict[str, tuple[int, int]]:
    """Row to the first and the last place that it may have by its average. Places count rows, where
    the ranks of `with_ties` count groups of rows.

    A row ranks below all that are significantly better and above all that are significantly worse.
    With p by Holm over all pairs, all intervals hold together at 95 % confidence (Mogstad et al.
    2024, "Inference for Ranks", Review of Economic Studies 91). Rows without an average or with one
    pretraining seed have none and are not counted.
    """
    names = [row.name for row in rows if has_rank(row, row.average)]
    found = {pair: compared(*pair)[AVERAGE] for pair in combinations(names, 2)}
    known = {pair: one for pair, one in found.items() if one and enough_seeds(one)}
    p_values = holm([one.p_value for one in known.values()])
    better, worse = Counter[str](), Counter[str]()
    for (pair, one), p_value in zip(known.items(), p_values, strict=True):
        if p_value < 1 - LEVEL:
            winner, loser = pair if one.estimate > 0 else pair[::-1]
            better[loser] += 1
            worse[winner] += 1
    return {name: (1 + better[name], len(names) - worse[name]) for name in names}


def has_rank(row: Row, score: Score | None) -> bool:
    """Whether a score of a row, or its average, has a rank: not with one pretraining seed, whose
    variation is unknown."""
    if score is None or row.pretrain_seeds < MIN_SEEDS:
        return False
    return score.seeds is None or score.seeds >= MIN_SEEDS


def _ranks(
    rows: Sequence[Row], scores: Sequence[Score | None], separable: np.ndarray
) -> list[int | None]:
    values = [
        score.mean if score and has_rank(row, score) else np.nan
        for row, score in zip(rows, scores, strict=True)
    ]
    return [None if np.isnan(rank) else int(rank) for rank in tie_groups(values, separable)]


def _best(ranks: Sequence[int | None]) -> list[bool]:
    """Whether each row is in the first rank, if there are several ranks."""
    several = any(rank and rank > 1 for rank in ranks)
    return [several and rank == 1 for rank in ranks]


def _marked(row: Row, best: Sequence[bool]) -> Row:
    """The row with `best` set in the scores of its average and its columns."""
    average, *scores = (
        replace(score, best=mark) if score else None
        for score, mark in zip((row.average, *row.scores), best, strict=True)
    )
    return replace(row, average=average, scores=tuple(scores))
