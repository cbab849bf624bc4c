"""Results to tables: mean and spread over seeds, a named average, published rows beside.

A missing cell is null and an average over a null is null and unranked, so that nothing incomplete
outranks anything complete. Scores of different suites, splits or metrics never share a column.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from harness.leaderboard.averages import Average, Term, combine, get_average, terms_of
from harness.leaderboard.published import as_validation, published_entry, published_table
from harness.leaderboard.tables import Published, Row, Score, Table, split_of
from harness.tasks.own import suite_named, tasks_of
from harness.tasks.task import Column, Suite, Task

SEEDS = ["pretrain_seed", "finetune_seed"]
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
        arms: arms that have a row even if they have no result.
        published: names of published tables that stand beside.
        protocol: one line on how the rows were fine-tuned.
        trained: arm to the parameters that it trains; null where all arms are adapted alike.

    Raises:
        ValueError: an unknown suite, average or published table, an average of tasks that the
            suite does not have, or a result that is there twice.
    """
    suite = suite if isinstance(suite, Suite) else suite_named(suite)
    results = results[results["suite"] == suite.name]
    suite = part_of_suite(suite, tasks) if tasks else suite
    rule = get_average(average or suite.average)
    terms = terms_of(rule, suite)
    columns = table_columns(suite, terms)
    groups = _arms(results, arms)
    named = pd.concat([runs.assign(arm=name) for name, runs in groups]) if groups else results
    scores = {column: _scores_by_arm(named, column) for column in columns}
    rows = [
        _row(name, runs, {c: scores[c].get(name, NO_RUNS) for c in columns}, terms)
        for name, runs in groups
    ]
    return Table(
        suite=suite,
        columns=columns,
        average=rule,
        rows=_ranked(rows),
        references=_references(tasks_of(suite), columns, terms),
        published=tuple(_published(name, columns, rule, terms) for name in published),
        protocol=protocol,
        trained=trained or {},
    )


def part_of_suite(suite: Suite, tasks: Sequence[str]) -> Suite:
    """Some tasks of the suite, averaged over all their columns, under a name that says so."""
    if set(tasks) == set(suite.tasks):
        return suite
    return suite.model_copy(
        update={
            "name": f"{suite.name}[{', '.join(t for t in suite.tasks if t in tasks)}]",
            "tasks": tuple(task for task in suite.tasks if task in tasks),
            "columns": tuple(column for column in suite.columns if column.task in tasks),
            "average": "mean_of_columns",
        }
    )


def table_columns(suite: Suite, terms: Sequence[Term]) -> tuple[Column, ...]:
    """The suite's columns with the metrics that the average takes, then what it takes besides."""
    taken = {column.name: column for term in terms for column in term}
    shown = {column.name: taken.get(column.name, column) for column in suite.columns}
    return tuple({**shown, **taken}.values())


def run_scores(results: pd.DataFrame, column: Column) -> pd.Series:
    """Score x 100 of each run of one arm in a column, by (pretrain_seed, finetune_seed).

    Several metrics are averaged; NaN where one of them is undefined.
    """
    here = (results["task"] == column.task) & (results["split"] == column.split)
    runs = results[here & results["metric"].isin(column.metrics)]
    wide = runs.set_index(["pretrain_seed", "finetune_seed", "metric"])["value"].unstack("metric")
    return 100 * wide.reindex(columns=list(column.metrics)).mean(axis=1, skipna=False)


Runs = tuple[pd.Series, pd.Series]
"""Scores of an arm in a column by (pretrain_seed, finetune_seed), and their means by
pretrain_seed."""
NO_RUNS: Runs = (
    pd.Series([], dtype=float, index=pd.MultiIndex.from_arrays([[], []], names=SEEDS)),
    pd.Series([], dtype=float, index=pd.Index([], name="pretrain_seed")),
)


def _scores_by_arm(results: pd.DataFrame, column: Column) -> dict[str, Runs]:
    """`run_scores` of every arm, all at once: a thousand arms take a second."""
    here = (results["task"] == column.task) & (results["split"] == column.split)
    runs = results[here & results["metric"].isin(column.metrics)]
    values = runs.set_index(["arm", *SEEDS, "metric"])["value"].astype(float)
    wide = values.unstack("metric")
    scores = 100 * wide.reindex(columns=list(column.metrics)).mean(axis=1, skipna=False)
    # One undefined run makes its cell null: a mean of the others would flatter the arm.
    seeds = scores.groupby(["arm", "pretrain_seed"]).mean(skipna=False)
    of_seeds = {arm: own.droplevel("arm") for arm, own in seeds.groupby("arm")}
    return {str(arm): (own.droplevel("arm"), of_seeds[arm]) for arm, own in scores.groupby("arm")}


def _arms(results: pd.DataFrame, arms: Sequence[str]) -> list[tuple[str, pd.DataFrame]]:
    """(row name, results) of each arm, in the order of first appearance."""
    twice = results[results.duplicated(IDENTITY)]
    if len(twice):
        raise ValueError(f"a result is there twice: {twice[IDENTITY].iloc[0].to_dict()}")
    several = results["experiment"].nunique() > 1
    named = results.assign(arm=row_names(results))
    groups = {str(name): group for name, group in named.groupby("arm", sort=False)}
    absent = {} if several else {arm: results.iloc[:0] for arm in arms if arm not in groups}
    return list({**groups, **absent}.items())


def row_names(results: pd.DataFrame) -> pd.Series:
    """What the row of each result is called: its arm, or, of several experiments, `experiment:
    arm`."""
    if results["experiment"].nunique() > 1:
        return results["experiment"].astype(str) + ": " + results["arm"].astype(str)
    return results["arm"].astype(str)


def _row(
    name: str, results: pd.DataFrame, runs: Mapping[Column, Runs], terms: Sequence[Term]
) -> Row:
    seeds = {column: of_seeds for column, (_, of_seeds) in runs.items()}
    means = {column: np.array(mean.mean(skipna=False)) for column, mean in seeds.items()}
    average = float(combine(terms, means))
    counts = results.groupby(["task", "pretrain_seed"])["finetune_seed"].nunique()
    return Row(
        name=name,
        scores=tuple(_score(float(means[c]), scores.to_numpy()) for c, (scores, _) in runs.items()),
        average=_score(average, _seed_averages(seeds, terms)),
        pretrain_seeds=results["pretrain_seed"].nunique(),
        finetune_seeds=int(counts.max()) if len(counts) else 0,
    )


def _seed_averages(seeds: Mapping[Column, pd.Series], terms: Sequence[Term]) -> np.ndarray:
    """The average of each pretraining seed that has every column it takes."""
    taken = list(dict.fromkeys(column for term in terms for column in term))
    wide = pd.concat([seeds[column] for column in taken], axis=1).dropna().to_numpy()
    return combine(terms, dict(zip(taken, wide.T, strict=True)))


def _score(mean: float, values: np.ndarray) -> Score | None:
    if not np.isfinite(mean):
        return None
    return Score(mean, float(np.std(values, ddof=1)) if len(values) > 1 else None)


def _ranked(rows: Sequence[Row]) -> tuple[Row, ...]:
    """Best average first, equal ones with equal rank, those without an average last."""
    averages = [row.average.mean for row in rows if row.average]
    ranked = [
        replace(row, rank=1 + sum(other > row.average.mean for other in averages))
        if row.average
        else row
        for row in rows
    ]
    return tuple(sorted(ranked, key=lambda row: row.rank or len(rows) + 1))


def _references(
    tasks: Mapping[str, Task], columns: Sequence[Column], terms: Sequence[Term]
) -> tuple[Row, ...]:
    """Chance, and the ceiling where one is known, in the columns that show a task's main score."""
    levels: dict[str, list[float | None]] = {
        "chance": [tasks[column.task].chance for column in columns],
        "ceiling": [tasks[column.task].ceiling for column in columns],
    }
    rows = []
    for name, values in levels.items():
        known = [
            100 * value
            if value is not None and _is_main(column, tasks[column.task])
            else float("nan")
            for column, value in zip(columns, values, strict=True)
        ]
        if np.isfinite(known).any():
            rows.append(_fixed_row(name, columns, known, terms))
    return tuple(rows)


def _is_main(column: Column, task: Task) -> bool:
    """Whether a column shows the main score, on examples drawn as the task's are."""
    split = next(split for split in task.evaluation if split.name == column.split)
    alike = not (split.where or split.path or split.config)
    return alike and column.metrics == task.metrics[:1]


def _fixed_row(
    name: str,
    columns: Sequence[Column],
    values: Sequence[float],
    terms: Sequence[Term],
    printed_average: float | None = None,
) -> Row:
    """A row of single numbers, NaN where there is none."""
    by_column = {c: np.array(value) for c, value in zip(columns, values, strict=True)}
    average = combine(terms, by_column) if printed_average is None else printed_average
    one = np.empty(1)
    return Row(name, tuple(_score(v, one) for v in values), _score(float(average), one))


def _published(
    name: str, columns: Sequence[Column], rule: Average, terms: Sequence[Term]
) -> Published:
    """A published table in the columns of a measured one: only equal metrics share a column."""
    entry, table = published_entry(name), published_table(name)
    rows = []
    for system, cells in table.groupby("system", sort=False):
        printed_cells = cells[["task", "split", "metric", "value"]].itertuples(index=False)
        exact = {(task, split, metric): value for task, split, metric, value in printed_cells}
        # A dev split stands beside a published test split, unless that one is measured, too.
        stood_for = {(t, as_validation(s), m): value for (t, s, m), value in exact.items()}
        values = stood_for | exact
        scores = [
            float(np.mean([values.get((c.task, c.split, m), np.nan) for m in c.metrics]))
            for c in columns
        ]
        # A printed average counts as it stands, unless the rule depends on the suite's columns.
        printed = values.get(("average", "validation", rule.name)) if rule.terms else None
        rows.append(_fixed_row(str(system), columns, scores, terms, printed))
    return Published(
        table=name,
        source=", ".join(filter(None, (entry["citation"], entry["printed_in"]))),
        split=entry["split"],
        protocol=entry["protocol"],
        rows=tuple(rows),
        measured=split_of(columns),
    )
