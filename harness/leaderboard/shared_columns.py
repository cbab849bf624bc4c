"""The average of a board whose rows have only some of the columns."""

from collections.abc import Callable, Sequence

from harness.analysis.columns import SuiteColumns, part_of_average
from harness.leaderboard.imported import ImportedBlock
from harness.leaderboard.table import Table


def shared_layout(
    table: Table, imported: Callable[[], Sequence[ImportedBlock]]
) -> SuiteColumns | None:
    """The columns of a table whose rows all lack the average, averaged over those that all rows
    have; null if there are none, or if a row has the average, with which no other is mixed.

    Args:
        imported: returns the imported blocks, whose rows count where none is measured.
    """
    rows, kind = list(table.rows), "measured"
    if not rows:
        rows, kind = [row for block in imported() for row in block.published.rows], "imported"
    if not rows or any(row.average for row in rows):
        return None
    cells = zip(*(row.scores for row in rows), strict=True)
    filled = [c for c, scores in zip(table.columns, cells, strict=True) if None not in scores]
    return part_of_average(table.layout, filled, kind)
