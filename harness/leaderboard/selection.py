"""Some columns of a table, and its rows in another order. Averages and ranks stay as they are."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from harness.core.config import unknown_name
from harness.leaderboard.quantity_columns import QuantityColumn
from harness.leaderboard.table import Row, Table

BESIDE = ("average", "arm")
"""What rows can be sorted by besides a column."""


def with_columns(table: Table, names: Sequence[str]) -> Table:
    """The table with some of its columns, in the order of `names`.

    Args:
        names: of columns, or of tasks, which stand for all their columns.

    Raises:
        ValueError: an unknown name.
    """
    places = list(dict.fromkeys(place for name in names for place in _places(table, name)))

    def cut(rows: Iterable[Row]) -> tuple[Row, ...]:
        return tuple(replace(row, scores=tuple(row.scores[i] for i in places)) for row in rows)

    return replace(
        table,
        layout=replace(table.layout, columns=tuple(table.columns[i] for i in places)),
        rows=cut(table.rows),
        references=cut(table.references),
        published=tuple(replace(block, rows=cut(block.rows)) for block in table.published),
    )


def sorted_by(table: Table, name: str) -> Table:
    """The table with its measured rows by a score, best first, by a quantity, least first, or by
    the name of the arm.

    Args:
        name: a column, a task with one column, a quantity of the table, or a name in BESIDE. Rows
            without a value are last.

    Raises:
        ValueError: an unknown name, or a task with several columns.
    """
    if name == "arm":
        return replace(table, rows=tuple(sorted(table.rows, key=lambda row: row.name)))
    if quantity := next((one for one in table.quantities if one.name == name), None):
        return replace(table, rows=tuple(sorted(table.rows, key=lambda row: _least(quantity, row))))
    places = (
        [-1]
        if name == "average"
        else _places(table, name, [*BESIDE, *(one.name for one in table.quantities)])
    )
    if len(places) > 1:
        several = ", ".join(table.columns[place].name for place in places)
        raise ValueError(f"{name} has several columns; name one of {several}")

    def order(row: Row) -> float:
        score = (*row.scores, row.average)[places[0]]
        return -score.mean if score else float("inf")

    return replace(table, rows=tuple(sorted(table.rows, key=order)))


def _least(quantity: QuantityColumn, row: Row) -> float:
    value = quantity.mean(row.name)
    return float("inf") if value is None else value


def _places(table: Table, name: str, more: Sequence[str] = ()) -> list[int]:
    """Indices of the column of this name, or of all columns of the task."""
    columns = list(enumerate(table.columns))
    found = [i for i, column in columns if column.name == name]
    found = found or [i for i, column in columns if column.task == name]
    if not found:
        known = dict.fromkeys([*more, *(column.name for _, column in columns)])
        raise ValueError(unknown_name("the column", name, known))
    return found
