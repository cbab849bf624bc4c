"""Leaderboards over a store: all experiments on a suite."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import pandas as pd

from harness.analysis.comparison.differences import MAX_ROWS, comparer
from harness.analysis.comparison.resampling import arm_runs
from harness.analysis.results import stage_counts
from harness.leaderboard.board_filter import BoardFilter
from harness.leaderboard.build import build, row_names
from harness.leaderboard.imported import with_imports
from harness.leaderboard.measured_rows import is_baseline
from harness.leaderboard.published import Board, board_of_suite, load_board
from harness.leaderboard.ranks import TOO_MANY, with_ties, without_ties
from harness.leaderboard.table import Table
from harness.store.recorded import SCORE_COLUMNS, RecordedExperiment, recorded_experiments
from harness.store.store import StageResult, Store
from harness.tasks import SUITES


def board_table(
    name: str,
    store: Store,
    average: str | None = None,
    board_filter: BoardFilter | None = None,
    experiments: Sequence[RecordedExperiment] | None = None,
    finished: Mapping[str, StageResult] | None = None,
) -> Table:
    """The leaderboard of all experiments in the store on a suite, with published and imported rows.

    Args:
        name: of a board or a suite.
        average: an averaging rule; null means the board's.
        experiments, finished: results of `recorded_experiments` and `Store.finished`, if already
            read.

    Raises:
        ValueError: an unknown board or averaging rule, or no arm passes the filter.
    """
    board = _board(name)
    known = recorded_experiments(store) if experiments is None else experiments
    frames = [_scores(one, board.suite, board_filter) for one in known]
    scores = pd.concat([pd.DataFrame(columns=SCORE_COLUMNS), *frames], ignore_index=True)
    on_suite = any((one.scores["suite"] == board.suite).any() for one in known)
    if board_filter and scores.empty and on_suite:
        raise ValueError(f"no arm on {board.suite} in the store passes {board_filter}")
    pretrain = _pretraining(known, scores)
    baselines = {row for row, fields in pretrain.items() if is_baseline(fields["model"]["family"])}
    rule, published = average or board.average, board.published
    table = build(scores, board.suite, rule, published=published, baselines=baselines)
    table = tied(
        table, scores, store, finished, lambda first, second: pretrain[first] == pretrain[second]
    )
    names = set(scores["experiment"])
    specs = (one.spec for one in known if one.name in names)
    return with_imports(table, store, specs, board_filter.imported if board_filter else None)


def _pretraining(
    known: Sequence[RecordedExperiment], scores: pd.DataFrame
) -> dict[str, Mapping[str, Any]]:
    """Row to all pretraining fields of its arm."""
    specs = {one.name: one.spec for one in known}
    rows = scores.assign(row=row_names(scores)).drop_duplicates("row")
    return {
        str(row): specs[experiment]["arms"][arm]["pretrain"]
        for row, experiment, arm in rows[["row", "experiment", "arm"]].itertuples(index=False)
    }


def tied(
    table: Table,
    scores: pd.DataFrame,
    store: Store,
    finished: Mapping[str, StageResult] | None = None,
    paired: Callable[[str, str], bool] = lambda first, second: False,
) -> Table:
    """`table` with ranks shared by arms that do not differ significantly. If that cannot be
    computed, the ranks stay as they are and the table says why.

    Args:
        scores: the scores that the table was built from.
        finished: result of `Store.finished`, if already read.
        paired: whether two rows start from the same checkpoints.
    """
    if not table.rows:
        return table
    if len(table.rows) > MAX_ROWS:
        return without_ties(table, TOO_MANY)
    named = scores.assign(arm=row_names(scores))
    found = finished or store.finished(named["key"].unique())
    if missing := set(named["key"]) - set(found):
        return without_ties(table, f"{len(missing)} runs are no longer in the store")
    counts = cache(lambda key: stage_counts(store, found[key]))
    try:
        runs = arm_runs([row.name for row in table.rows], named, counts, table.layout)
        return with_ties(table, comparer(runs, table.layout, paired))
    except ValueError as error:
        return without_ties(table, str(error))


def _board(name: str) -> Board:
    """The board of this name, or of the suite of this name."""
    if found := board_of_suite(name):
        return found
    if name in SUITES:
        return Board(name=name, title=name, suite=name, average=SUITES[name].average)
    return load_board(name)


def _scores(
    experiment: RecordedExperiment, suite: str, board_filter: BoardFilter | None
) -> pd.DataFrame:
    rows = experiment.scores[experiment.scores["suite"] == suite]
    return rows[rows["arm"].isin(board_filter.arms(experiment))] if board_filter else rows
