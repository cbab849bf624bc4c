"""Rows that stand beside measured ones: levels to read them against, and what papers printed."""

from collections.abc import Mapping, Sequence

import numpy as np

from harness.leaderboard.averages import Average, Term, combine
from harness.leaderboard.published import as_validation, published_entry, published_table
from harness.leaderboard.tables import Published, Row, Score, split_of
from harness.tasks.task import Column, Task


def references(
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
    return Row(name, tuple(map(_known, values)), _known(float(average)))


def _known(value: float) -> Score | None:
    return Score(value) if np.isfinite(value) else None


def published_rows(
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
