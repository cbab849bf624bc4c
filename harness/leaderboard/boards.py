"""Leaderboards over a store: all experiments on a suite."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd
from pydantic import ValidationError

from harness.analysis.comparison.differences import Compared, dependent_runs
from harness.analysis.frames.scores import scores_frame
from harness.analysis.results import Results
from harness.core.config import unknown_name
from harness.experiment.arms import Arm
from harness.experiment.evaluation import Evaluate
from harness.finetuning.compatibility import unsupported_reason
from harness.finetuning.ensemble import recorded_networks
from harness.leaderboard.board_filter import BoardFilter
from harness.leaderboard.build import build, build_columns, experiment_table, row_names
from harness.leaderboard.facets import facets
from harness.leaderboard.imported import ImportedBlock, imported_blocks
from harness.leaderboard.missing import Reasons, reasons
from harness.leaderboard.own_suites import check_plugin_suite, own_suites
from harness.leaderboard.published import Board, board_names, board_of_suite, load_board
from harness.leaderboard.quantity_columns import QuantityColumn, board_quantities
from harness.leaderboard.ranked import ranked, tied
from harness.leaderboard.row_notes import (
    merged,
    of_ensembles,
    unfinished,
    unlike_protocols,
)
from harness.leaderboard.shared_columns import shared_layout
from harness.leaderboard.signals import board_signals
from harness.leaderboard.table import Row, Table
from harness.leaderboard.twins import twins, without_twins
from harness.models import is_baseline
from harness.plan.protocol import recorded_protocols
from harness.plan.task_chain_stages import chain_unsupported_reason
from harness.pretraining.recipes.pretrain import Pretrain
from harness.store.recorded import RecordedExperiment, recorded_experiments, scores_of
from harness.store.store import StageResult, Store
from harness.tasks import SUITES
from harness.tasks.task import Suite


@dataclass(frozen=True)
class StoreBoard:
    """The leaderboard of a store on a suite, and what its measured rows are."""

    table: Table
    arms: Mapping[str, tuple[str, Mapping[str, Any]]]
    """Row to its experiment and the resolved fields of its arm."""
    compared: Compared | None
    """Compares two rows by name; null if rows cannot be compared."""
    imported: tuple[Row, ...] = ()
    """Imported rows that are ranked together with the measured ones."""


def board_table(
    name: str,
    store: Store,
    average: str | None = None,
    board_filter: BoardFilter | None = None,
    tasks: Sequence[str] | None = None,
    quantities: Sequence[str] = (),
) -> Table:
    """The leaderboard of all experiments in the store on a suite, with published and imported rows.
    Arms of several experiments with the same runs are one row.

    Args:
        name: of a board, or of a suite: a shipped one, or one that an experiment declares.
        average: an averaging rule; null means the board's, or the mean of all columns of `tasks`.
            If no row has the board's, it is over the columns that all rows have; where none is
            measured, all imported rows.
        tasks: some tasks of the suite; null means all.
        quantities: in `quantity_columns.OF_STORES`; empty cells where the recorded experiment has
            none, or an earlier version recorded it.

    Raises:
        ValueError: an unknown board, task, quantity or averaging rule, or no arm passes the filter.
    """
    return store_board(name, store, average, board_filter, tasks=tasks, quantities=quantities).table


def store_board(
    name: str,
    store: Store,
    average: str | None = None,
    board_filter: BoardFilter | None = None,
    experiments: Sequence[RecordedExperiment] | None = None,
    finished: Mapping[str, StageResult] | None = None,
    tasks: Sequence[str] | None = None,
    quantities: Sequence[str] = (),
) -> StoreBoard:
    """`board_table` with the arms of its rows.

    Args:
        experiments, finished: results of `recorded_experiments` and `Store.finished`, if already
            read.

    Raises:
        ValueError: as `board_table` does.
    """
    known = recorded_experiments(store) if experiments is None else experiments
    board, suite = _board(name, known)
    scores = scores_of(known, board.suite)
    if board_filter and not scores.empty:
        scores = _selected(scores, known, board_filter)
        if scores.empty:
            raise ValueError(f"no arm on {board.suite} in the store passes {board_filter}")
    scores, twin_notes = without_twins(scores, twins(scores))
    measured = set(scores["experiment"].unique())
    specs = {one.name: one.spec for one in known if one.name in measured}
    arms = _arms(specs, scores)
    pretrain = {row: fields["pretrain"] for row, (_, fields) in arms.items()}
    baselines = {row for row, fields in pretrain.items() if is_baseline(fields["model"]["family"])}
    published = board.published
    rule = average or (None if tasks else board.average)
    table = build(scores, suite, rule, tasks=tasks, published=published, baselines=baselines)
    select = board_filter.imported if board_filter else None

    def imports() -> list[ImportedBlock]:
        return imported_blocks(table, store, specs.values(), select, tasks)

    if not (average or tasks) and (layout := shared_layout(table, imports)):
        table = build_columns(scores, layout, published=published, baselines=baselines)
    table = replace(
        table,
        facets={row.name: facets(pretrain[row.name], row) for row in table.rows},
        missing=_missing(table, scores, specs, arms),
        row_notes=_row_notes(table, scores, specs, arms, baselines, twin_notes),
        quantities=_quantities(known, scores, arms, quantities),
        signals=board_signals(scores.assign(arm=row_names(scores)), table, baselines),
    )

    def paired(first: str, second: str) -> bool:
        return {first, second} <= pretrain.keys() and pretrain[first] == pretrain[second]

    found = ranked(table, scores, store, finished, paired, imports())
    table = replace(found.table, published=(*table.published, *found.published))
    return StoreBoard(table, arms, found.compared, tuple(found.imported.values()))


def _arms(
    specs: Mapping[str, Mapping[str, Any]], scores: pd.DataFrame
) -> dict[str, tuple[str, Mapping[str, Any]]]:
    """Row to its experiment and the resolved fields of its arm."""
    rows = scores.assign(row=row_names(scores)).drop_duplicates("row")
    return {
        str(row): (str(experiment), specs[experiment]["arms"][arm])
        for row, experiment, arm in rows[["row", "experiment", "arm"]].itertuples(index=False)
    }


def _quantities(
    experiments: Sequence[RecordedExperiment],
    scores: pd.DataFrame,
    arms: Mapping[str, tuple[str, Mapping[str, Any]]],
    names: Sequence[str],
) -> tuple[QuantityColumn, ...]:
    """The columns of recorded quantities."""
    if not names:
        return ()
    recorded = {one.name: one.quantities for one in experiments}
    arm_of = _arm_names(scores)
    rows = {
        row: recorded.get(experiment, {}).get(arm_of[row], {})
        for row, (experiment, _) in arms.items()
    }
    return board_quantities(rows, names)


def _arm_names(scores: pd.DataFrame) -> dict[str, str]:
    """Row to the name of its arm in its experiment."""
    named = scores.assign(row=row_names(scores))
    return dict(named[["row", "arm"]].drop_duplicates().itertuples(index=False))


def _missing(
    table: Table,
    scores: pd.DataFrame,
    specs: Mapping[str, Mapping[str, Any]],
    arms: Mapping[str, tuple[str, Mapping[str, Any]]],
) -> Reasons:
    """Why cells of measured rows are empty."""
    named = scores.assign(arm=row_names(scores))
    every = {column.task for column in table.columns}
    chosen = {
        row: specs[experiment]["experiment"].get("evaluate", {}).get("tasks") or every
        for row, (experiment, _) in arms.items()
    }
    return reasons(
        table.rows, table.columns, named, chosen, lambda row, task: _unsupported(arms[row][1], task)
    )


def _row_notes(
    table: Table,
    scores: pd.DataFrame,
    specs: Mapping[str, Mapping[str, Any]],
    arms: Mapping[str, tuple[str, Mapping[str, Any]]],
    baselines: Collection[str],
    twin_notes: Mapping[str, str],
) -> dict[str, tuple[str, ...]]:
    """Row to its notes. Baselines are not fine-tuned, so they have no protocol; experiments
    recorded before declared runs were have no note on these."""
    named = scores.assign(row=row_names(scores))
    arm_of = _arm_names(scores)
    planned = {
        row: specs[experiment].get("runs", {}).get(arm_of[row], {})
        for row, (experiment, _) in arms.items()
    }
    of_experiment = {
        name: recorded_protocols(specs[name])
        for name in dict.fromkeys(name for name, _ in arms.values())
    }
    protocols = {
        row.name: of_experiment[arms[row.name][0]][arm_of[row.name]]
        for row in table.rows
        if row.name not in baselines
    }
    tasks = {column.task for column in table.columns}
    by_row = named.assign(arm=named["row"])
    networks = {r: recorded_networks(arms[r][1]) for r in protocols}
    notes = of_ensembles(networks), unfinished(by_row, planned, tasks)
    return merged(unlike_protocols(protocols), *notes, twin_notes)


def _unsupported(arm: Mapping[str, Any], task: str) -> str:
    """Why a recorded arm does not support a task; empty if it does, or if another version
    recorded it with other fields."""
    try:
        pretrain = Pretrain.model_validate(arm["pretrain"])
        evaluate = Evaluate.model_validate(arm["evaluate"])
    except (KeyError, ValidationError):
        return ""
    known = Arm("", {}, {}, pretrain, evaluate)
    return unsupported_reason(
        evaluate.known_tasks[task], evaluate.protocol, evaluate.adaptation, known.adapted
    ) or chain_unsupported_reason(known, evaluate.known_tasks[task])


def ranked_table(
    results: Results,
    average: str | None = None,
    tasks: Sequence[str] | None = None,
    quantities: Sequence[str] = (),
) -> Table:
    """The table of an experiment, with ranks shared by arms that do not differ significantly.

    Args:
        average, tasks, quantities: as for `experiment_table`.

    Raises:
        ValueError: as `experiment_table` does.
    """
    return tied(
        experiment_table(results, average, tasks, quantities),
        results.get(scores_frame),
        results.store,
        results.finished,
        dependent_runs(results.experiment, results.plan.differences),
    )


def _board(name: str, experiments: Sequence[RecordedExperiment]) -> tuple[Board, Suite]:
    """The board of this name, or of the suite of this name, and its suite.

    Raises:
        ValueError: there is no such board or suite.
    """
    if not (board := board_of_suite(name)) and name in board_names():
        board = load_board(name)
    if board:
        return board, SUITES[board.suite]
    own = own_suites(experiments)
    suites = {**own, **SUITES}
    if name not in suites:
        check_plugin_suite(name, experiments)
        known = [*own, *board_names(), *SUITES]
        raise ValueError(unknown_name("the board or suite", name, known))
    return Board(name=name, title=name, suite=name, average=suites[name].average), suites[name]


def _selected(
    scores: pd.DataFrame, experiments: Sequence[RecordedExperiment], board_filter: BoardFilter
) -> pd.DataFrame:
    """The scores of the arms that pass a filter."""
    names = set(scores["experiment"].unique())
    known = (one for one in experiments if one.name in names)
    arms = {(one.name, arm) for one in known for arm in board_filter.arms(one)}
    passes = [pair in arms for pair in zip(scores["experiment"], scores["arm"], strict=True)]
    return scores[passes]
