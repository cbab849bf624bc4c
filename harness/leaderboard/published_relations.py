"""Claims of the literature about numbers of one published table, judged cell by cell.

A printed number has no interval here, so a relation holds in a cell or does not. It mostly says
that the numbers agree with the sentence beside them; it is no replication.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from harness.leaderboard.published import (
    cited_in_short,
    printed,
    published_entry,
    published_table,
    system_names,
)
from harness.leaderboard.published_files import CELL, LOSSES

AVERAGE = "average"
"""Task of printed averages."""


@dataclass(frozen=True)
class Relation:
    """Two systems of a published table, one better than the other or as good within a margin."""

    claim: str
    """Its id: `E64`."""
    table: str
    first: str
    second: str
    margin: float | None
    """The largest difference of systems that are equal, in the unit of the table; null if the first
    is expected to be better."""
    differences: Mapping[tuple[str, str, str], float]
    """(task, split, metric) to how much better the first is. Without averages, unless they are
    named."""

    @property
    def num_cells(self) -> int:
        """Cells that both systems have."""
        return len(self.differences)

    @property
    def num_holding(self) -> int:
        """Cells in which the relation holds; equal numbers are no difference."""
        if self.margin is None:
            return sum(gain > 0 for gain in self.differences.values())
        # Printed digits, not their binary form, decide at the margin.
        limit = self.margin + 1e-9
        return sum(abs(gain) <= limit for gain in self.differences.values())

    @property
    def source(self) -> str:
        """Authors, year and place of the table."""
        return cited_in_short(published_entry(self.table))

    def __str__(self) -> str:
        if self.margin is None:
            return f"{self.first} > {self.second}"
        return f"{self.first} = {self.second} within {self.margin:g}"


def published_relations() -> list[Relation]:
    """All relations of `leaderboards/published/claims.csv`, in its order.

    Raises:
        ValueError: the file cannot be read; a table, system or task is unknown; a margin is no
            positive number; or two systems share no cell.
    """
    rows = printed("claims").to_dict("records")
    return [_relation({str(name): cell for name, cell in row.items()}) for row in rows]


def _relation(row: Mapping[str, str]) -> Relation:
    table = published_table(row["table"])
    first, second = (_cells(row["table"], table, row[name]) for name in ("first", "second"))
    tasks = row["tasks"].split()
    # The mean of other cells would count twice.
    wanted = tasks or [str(task) for task in set(table["task"]) - {AVERAGE}]
    shared = [cell for cell in first if cell in second and cell[0] in wanted]
    if not shared or (missing := set(tasks) - {task for task, _, _ in shared}):
        what = f"numbers of {', '.join(sorted(missing))}" if shared else "a number"
        raise ValueError(
            f"{row['claim']}: {row['first']} and {row['second']} must both have {what} in the "
            f"published table {row['table']}"
        )
    return Relation(
        claim=row["claim"],
        table=row["table"],
        first=row["first"],
        second=row["second"],
        margin=_margin(row),
        differences={cell: _gain(cell, first[cell] - second[cell]) for cell in shared},
    )


def _gain(cell: tuple[str, str, str], difference: float) -> float:
    return -difference if cell[2] in LOSSES else difference


def _margin(row: Mapping[str, str]) -> float | None:
    if not row["within"]:
        return None
    margin = float(row["within"])
    if not 0 < margin < math.inf:
        raise ValueError(f"{row['claim']}: within must be above 0, but is {row['within']}")
    return margin


def _cells(name: str, table: pd.DataFrame, system: str) -> dict[tuple[str, str, str], float]:
    """(task, split, metric) to the number of a system."""
    names = system_names(table)
    if system not in set(names):
        known = "; ".join(dict.fromkeys(names))
        raise ValueError(f"the published table {name} has no system {system!r}; known: {known}")
    own = table[names == system]
    cells: Sequence[tuple[str, str, str]] = list(own[CELL].itertuples(index=False, name=None))
    return dict(zip(cells, map(float, own["value"]), strict=True))
