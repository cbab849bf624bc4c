"""Reference rows: chance and ceiling, and published results."""

from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np
import pandas as pd

from harness.analysis.averages import Average, Term
from harness.analysis.columns import combine
from harness.leaderboard.published import (
    as_validation,
    cited,
    cited_in_short,
    published_entry,
    published_table,
    system_names,
)
from harness.leaderboard.published_files import CELL
from harness.leaderboard.table import Published, Row, Score, split_of
from harness.tasks.task import Column, Task


def references(
    tasks: Mapping[str, Task], columns: Sequence[Column], terms: Sequence[Term]
) -> tuple[Row, ...]:
    """Rows of chance and, if known, the ceiling, in columns with a task's main metric."""
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
    """Whether a column shows the main metric on the task's own kind of examples."""
    split = next(split for split in task.evaluation if split.name == column.split)
    alike = not (split.where or split.path or split.config)
    return alike and column.metrics == task.metrics[:1]


def _fixed_row(
    name: str, columns: Sequence[Column], values: Sequence[float], terms: Sequence[Term]
) -> Row:
    """A row of numbers, NaN for missing ones, and their average."""
    average = combine(terms, {c: np.array(v) for c, v in zip(columns, values, strict=True)})
    return Row(name, tuple(map(_known, values)), _known(float(average)))


def _known(value: float, sd: float = float("nan")) -> Score | None:
    return Score(value, sd if np.isfinite(sd) else None) if np.isfinite(value) else None


@cache
def published_blocks(
    name: str, columns: tuple[Column, ...], rule: Average
) -> tuple[Published, ...]:
    """A published table in the columns of a measured one; columns have equal metrics.

    The first block has the cells on the measured splits. The second, not comparable, has cells on
    test splits in the columns of the dev splits.

    Raises:
        ValueError: an unknown table, or one without scores.
    """
    entry, table = published_entry(name), published_table(name)
    table = table.assign(name=system_names(table), printed_on=table["split"])
    tests = table[table["split"].str.startswith("test")]
    stand_ins = tests.assign(split=tests["split"].map(as_validation))
    # Splits that are neither dev nor test, such as SuperGLUE's AX-b, are shown in both blocks.
    twinless = table[~table["split"].str.startswith(("validation", "test"))]
    measured = split_of(columns)
    blocks = []
    for cells, reason in (
        (table.drop(twinless.index), ""),
        (stand_ins, f"Not comparable row by row: published on test, measured on {measured}."),
    ):
        if not _in_columns(cells, columns).any():
            continue
        cells = pd.concat([cells, twinless])
        shown = cells[_in_columns(cells, columns)]
        block = Published(
            table=name,
            source=cited(entry),
            split=" and ".join(dict.fromkeys(shown["printed_on"].str.split("_").str[0])),
            protocol=entry["protocol"],
            rows=tuple(
                _published_row(system, cells[cells["name"] == system], columns, rule)
                for system in dict.fromkeys(shown["name"])
            ),
            reason=" ".join(filter(None, (reason, entry["apart"]))),
            citation=cited_in_short(entry),
        )
        blocks.append(block)
    return tuple(blocks)


def _in_columns(cells: pd.DataFrame, columns: Sequence[Column]) -> pd.Series:
    """Whether each cell belongs to a column."""
    wanted = {(c.task, c.split, metric) for c in columns for metric in c.metrics}
    found = [cell in wanted for cell in cells[CELL].itertuples(index=False, name=None)]
    return pd.Series(found, cells.index, dtype=bool)


def _published_row(name: str, cells: pd.DataFrame, columns: Sequence[Column], rule: Average) -> Row:
    """A system's printed scores. The average is the printed one if it is over these columns by this
    rule, else null: averages are never computed in a paper's name."""
    values = cells.set_index(CELL)["value"]
    spreads = cells.set_index(CELL)["sd"] if "sd" in cells else pd.Series(dtype=str)
    scores = []
    for column in columns:
        places = [(column.task, column.split, metric) for metric in column.metrics]
        sd = float(spreads.get(places[0]) or "nan") if len(places) == 1 else float("nan")
        scores.append(_known(float(np.mean([values.get(place, np.nan) for place in places])), sd))
    average = values.get(("average", split_of(columns), rule.name), np.nan)
    parts = cells[cells["task"] != "average"]
    same = bool(rule.terms) or _of_all(columns, parts)
    return Row(name, tuple(scores), _known(float(average)) if same else None)


def _of_all(columns: Sequence[Column], cells: pd.DataFrame) -> bool:
    """Whether the cells are exactly those of the columns."""
    metrics = sum(len(column.metrics) for column in columns)
    return len(cells) == metrics and bool(_in_columns(cells, columns).all())
