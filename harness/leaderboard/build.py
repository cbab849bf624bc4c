"""Builds the leaderboard table of a suite, or of one experiment, from results.

A missing cell is null, and an average over a null is null and unranked, so that incomplete rows
never outrank complete ones. Scores of different suites, splits or metrics never share a column.
"""

from bisect import bisect_right
from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from harness.analysis.columns import SuiteColumns, suite_columns
from harness.analysis.comparison.differences import Comparer, dependent_runs
from harness.analysis.comparison.resampling import arm_runs
from harness.analysis.frames.scores import scores_frame
from harness.analysis.results import Results
from harness.analysis.seed_scores import SEEDS
from harness.analysis.statistics.bootstrap import Runs
from harness.core.config import unknown_name
from harness.core.rounding import steady
from harness.leaderboard.measured_rows import deterministic_row, measured_rows
from harness.leaderboard.missing import reasons
from harness.leaderboard.published import board_of_suite
from harness.leaderboard.quantity_columns import QuantityColumn, experiment_quantities
from harness.leaderboard.ranks import has_rank
from harness.leaderboard.reference_rows import published_blocks, references
from harness.leaderboard.row_notes import merged, of_ensembles, unfinished
from harness.leaderboard.table import Row, Table, protocol_line
from harness.models import is_baseline
from harness.plan.protocol import protocol_of
from harness.tasks.custom import suite_named, tasks_of
from harness.tasks.task import Suite

IDENTITY = ["experiment", "arm", "task", "split", "metric", *SEEDS]


def build(
    results: pd.DataFrame,
    suite: Suite | str,
    average: str | None = None,
    *,
    tasks: Sequence[str] | None = None,
    arms: Sequence[str] = (),
    published: Sequence[str] = (),
    protocol: str = "",
    quantities: tuple[QuantityColumn, ...] = (),
    baselines: Collection[str] = (),
) -> Table:
    """The table of a suite.

    Args:
        results: one row per (experiment, arm, suite, task, split, metric, pretrain_seed,
            finetune_seed) with its `value`; other suites are ignored. With several experiments, a
            row is named `experiment: arm`.
        suite: a suite or its name.
        average: name of an averaging rule; null means the suite's own, or the mean of all columns
            if `tasks` is a part of the suite.
        tasks: tasks to include; null means all.
        arms: arms of a single experiment that get a row even without results.
        published: names of published tables to include.
        protocol: one line on how the rows were fine-tuned.
        quantities: columns after the seeds.
        baselines: rows of models without randomness, shown without seeds and standard deviation.

    Raises:
        ValueError: an unknown suite, average or published table, an average over tasks that the
            suite does not have, or a duplicate result.
    """
    whole = suite if isinstance(suite, Suite) else suite_named(suite)
    table = build_columns(
        results[results["suite"] == whole.name],
        suite_columns(whole, average, tasks),
        arms=arms,
        published=published,
        baselines=baselines,
    )
    return replace(table, protocol=protocol, quantities=quantities)


def build_columns(
    results: pd.DataFrame,
    layout: SuiteColumns,
    *,
    arms: Sequence[str] = (),
    published: Sequence[str] = (),
    baselines: Collection[str] = (),
) -> Table:
    """The table of a suite in given columns.

    Args:
        results: as for `build`, of this suite alone.
        arms, published, baselines: as for `build`.

    Raises:
        ValueError: an unknown published table, or a duplicate result.
    """
    named = _named(results)
    absent = arms if results["experiment"].nunique() <= 1 else ()
    names = list(dict.fromkeys([*named["arm"], *absent]))
    rows = [
        deterministic_row(row) if row.name in baselines else row
        for row in measured_rows(named, names, layout.columns, layout.terms)
    ]
    return Table(
        layout=layout,
        rows=_ranked(rows),
        references=references(tasks_of(layout.suite), layout.columns, layout.terms),
        published=tuple(
            block
            for name in published
            for block in published_blocks(name, layout.columns, layout.average)
        ),
    )


def experiment_table(
    results: Results,
    average: str | None = None,
    tasks: Sequence[str] | None = None,
    quantities: Sequence[str] = (),
) -> Table:
    """Measured rows ranked by their averages without ties, reference levels, and published rows.

    Args:
        average: an averaging rule; null means the suite's.
        tasks: some tasks of the experiment; null means all.
        quantities: in `quantity_columns.COLUMNS`.

    Raises:
        ValueError: an unknown quantity or averaging rule, one over tasks that the suite does not
            have, or a task that the experiment does not have.
    """
    suite, chosen = results.suite, results.experiment.evaluate.chosen
    for task in tasks or ():
        if task not in chosen:
            raise ValueError(unknown_name(f"{results.experiment.name}: the task", task, chosen))
    board = board_of_suite(suite.name)
    scores = results.get(scores_frame)
    table = build(
        scores,
        suite,
        average,
        tasks=tasks or results.experiment.evaluate.tasks,
        arms=results.arms,
        published=board.published if board else (),
        protocol=protocol_line(protocol_of(results.plan)),
        quantities=experiment_quantities(results, quantities),
        baselines={arm.name for arm in results.plan.arms if is_baseline(arm.pretrain.model.family)},
    )
    chosen_by = dict.fromkeys(results.arms, chosen)
    unsupported = results.plan.unsupported
    found = reasons(
        table.rows, table.columns, scores, chosen_by, lambda *pair: unsupported.get(pair, "")
    )
    shown = {column.task for column in table.columns}
    networks = {arm.name: arm.networks for arm in results.plan.arms}
    notes = merged(of_ensembles(networks), unfinished(scores, results.num_planned, shown))
    return replace(table, missing=found, row_notes=notes)


def experiment_comparer(results: Results, table: Table) -> Comparer:
    """A function that compares two arms on the columns of `table`.

    Raises:
        ValueError: two runs of a task were scored on different examples.
    """
    own = table.layout == results.get(experiment_table).layout
    runs = results.get(experiment_runs) if own else _runs(results, table.layout)
    paired = dependent_runs(results.experiment, results.plan.differences)
    return Comparer(runs, table.layout, paired, results.coverage)


def experiment_runs(results: Results) -> dict[str, dict[str, Runs]]:
    """Arm to task to the scores of its runs on resampled examples, in the columns of the suite.

    Raises:
        ValueError: two runs of a task were scored on different examples.
    """
    return _runs(results, results.get(experiment_table).layout)


def _runs(results: Results, layout: SuiteColumns) -> dict[str, dict[str, Runs]]:
    by_seed = results.experiment.seeds.in_worlds
    return arm_runs(results.arms, results.get(scores_frame), results.counts, layout, by_seed)


def _named(results: pd.DataFrame) -> pd.DataFrame:
    """The results with the names of their rows in the column `arm`.

    Raises:
        ValueError: a duplicate result.
    """
    if len(twice := results[results.duplicated(IDENTITY)]):
        raise ValueError(f"duplicate result: {twice[IDENTITY].iloc[0].to_dict()}")
    return results.assign(arm=row_names(results))


def row_names(results: pd.DataFrame) -> pd.Series:
    """Name of the row of each result: its arm, or `experiment: arm` with several experiments."""
    if results["experiment"].nunique() > 1:
        return results["experiment"].astype(str) + ": " + results["arm"].astype(str)
    return results["arm"].astype(str)


def _ranked(rows: Sequence[Row]) -> tuple[Row, ...]:
    """The rows by average, best first, equal ones with equal ranks, those without an average last.
    Rows with one pretraining seed have no rank, because their variation is unknown."""
    averages = sorted(steady(r.average.mean) for r in rows if r.average and has_rank(r, r.average))
    ranked = [
        replace(row, rank=1 + len(averages) - bisect_right(averages, steady(row.average.mean)))
        if row.average and has_rank(row, row.average)
        else row
        for row in rows
    ]
    return tuple(sorted(ranked, key=_descending))


def _descending(row: Row) -> float:
    return -steady(row.average.mean) if row.average else np.inf
