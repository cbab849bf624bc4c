"""Results to tables: mean and spread over seeds, a named average, published rows beside.

A missing cell is null and an average over a null is null and unranked, so that nothing incomplete
outranks anything complete. Scores of different suites, splits or metrics never share a column.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from harness.analysis.columns import suite_columns
from harness.leaderboard.measured_rows import SEEDS, deterministic_row, measured_rows
from harness.leaderboard.reference_rows import published_blocks, references
from harness.leaderboard.table import Row, Table
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
    trained: Mapping[str, float] | None = None,
    baselines: Collection[str] = (),
) -> Table:
    """The table of a suite.

    Args:
        results: one row per (experiment, arm, suite, task, split, metric, pretrain_seed,
            finetune_seed) with its `value`; rows of other suites are left out. With several
            experiments a row is named `experiment: arm`.
        suite: a suite or its name.
        average: name of an averaging rule; null takes the suite's own, or the mean of all columns
            where only some tasks are taken.
        tasks: some tasks of the suite; null takes all.
        arms: of one experiment: arms that have a row even if they have no result.
        published: names of published tables that stand beside.
        protocol: one line on how the rows were fine-tuned.
        trained: arm to the parameters that it trains; null where all arms are adapted alike.
        baselines: rows of models without any randomness, which show neither seeds nor spread.

    Raises:
        ValueError: an unknown suite, average or published table, an average of tasks that the
            suite does not have, or a result that is there twice.
    """
    whole = suite if isinstance(suite, Suite) else suite_named(suite)
    results = results[results["suite"] == whole.name]
    layout = suite_columns(whole, average, tasks)
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
        protocol=protocol,
        trained=trained or {},
    )


def _named(results: pd.DataFrame) -> pd.DataFrame:
    """The results, each with the name of its row as its arm.

    Raises:
        ValueError: a result is there twice.
    """
    if len(twice := results[results.duplicated(IDENTITY)]):
        raise ValueError(f"a result is there twice: {twice[IDENTITY].iloc[0].to_dict()}")
    return results.assign(arm=row_names(results))


def row_names(results: pd.DataFrame) -> pd.Series:
    """What the row of each result is called: its arm, or, of several experiments, `experiment:
    arm`."""
    if results["experiment"].nunique() > 1:
        return results["experiment"].astype(str) + ": " + results["arm"].astype(str)
    return results["arm"].astype(str)


def _ranked(rows: Sequence[Row]) -> tuple[Row, ...]:
    """Best average first, equal ones with equal rank, those without an average last. One
    pretraining seed has no rank: it cannot show how far two runs lie apart."""
    averages = [row.average.mean for row in rows if row.average and row.pretrain_seeds > 1]
    ranked = [
        replace(row, rank=1 + sum(other > row.average.mean for other in averages))
        if row.average and row.pretrain_seeds > 1
        else row
        for row in rows
    ]
    return tuple(sorted(ranked, key=_from_the_best))


def _from_the_best(row: Row) -> float:
    return -row.average.mean if row.average else np.inf
