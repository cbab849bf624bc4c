"""What all output formats of a table share: the cells of a row, marks of published rows, notes."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from harness.core.rounding import steady
from harness.leaderboard.column_labels import column_label
from harness.leaderboard.quantity_columns import QuantityColumn
from harness.leaderboard.table import Published, Row, Score, Table

MISSING = "–"
DAGGER, DOUBLE_DAGGER = "†", "‡"


def marked(table: Table) -> list[tuple[str, Published]]:
    """The published and imported blocks with the mark of their rows: a dagger, numbered if there
    are several."""
    return list(zip(_marks(DAGGER, len(table.published)), table.published, strict=True))


def _marks(symbol: str, number: int) -> list[str]:
    return [f"{symbol}{i}" if number > 1 else symbol for i in range(1, number + 1)]


def marked_notes(table: Table) -> dict[str, str]:
    """The notes on measured rows with their marks: a double dagger, numbered if there are several
    notes. Rows with the same note share its mark."""
    notes = dict.fromkeys(note for row in table.rows for note in table.row_notes.get(row.name, ()))
    return dict(zip(notes, _marks(DOUBLE_DAGGER, len(notes)), strict=True))


def row_marks(table: Table) -> dict[str, str]:
    """Measured row to the marks of its notes; empty if there are none."""
    marks = marked_notes(table)
    notes = {row.name: table.row_notes.get(row.name, ()) for row in table.rows}
    return {row: " ".join(marks[note] for note in of) for row, of in notes.items()}


def marked_blocks(table: Table, comparable: bool) -> list[tuple[str, Published]]:
    """The marked blocks that are comparable with the measured rows, or those that are not and have
    separate tables."""
    return [(mark, block) for mark, block in marked(table) if block.comparable == comparable]


def heading(mark: str, block: Published) -> str:
    """The line above a block: its source, and why it is not comparable."""
    return f"{mark} {block.source}; {block.split}" + (f". {block.reason}" if block.reason else "")


def all_notes(table: Table) -> list[str]:
    """The lines under a table, including those on single rows and on its published rows."""
    of_rows = [f"{mark} {note}" for note, mark in marked_notes(table).items()]
    published = [
        f"{mark} {block.kind}: {block.source}; {block.split}; {block.protocol}. {block.reason}"
        for mark, block in marked(table)
    ]
    return [*table.notes(), *of_rows, *(note.strip() for note in published)]


def heads(table: Table) -> list[str]:
    """The heads of the columns of `row_cells`."""
    labels = [column_label(column) for column in table.columns]
    average = [table.average.label] if table.shows_average else []
    return ["rank", "arm", *average, *labels, "seeds", *quantity_heads(table)]


def shown_rows(table: Table) -> list[tuple[Row, str]]:
    """The measured rows, the reference levels, and the published rows comparable with them, each
    with what follows its name: its source and its mark."""
    marks = row_marks(table)
    measured = [(row, marks.get(row.name, "")) for row in (*table.rows, *table.references)]
    blocks = marked_blocks(table, comparable=True)
    return [*measured, *(shown for block in blocks for shown in cited_rows(*block))]


def cited_rows(mark: str, block: Published) -> list[tuple[Row, str]]:
    """The rows of a block, each with the block's short citation and its mark."""
    return [(row, f"({block.citation}) {mark}") for row in block.rows]


def row_cells(table: Table, row: Row, mark: str = "") -> list[str]:
    """The printed cells of a row, in the order of the head."""
    scores = [_text(score) for score in table.printed_scores(row)]
    name = f"{row.name} {mark}".strip()
    return [str(row.rank or ""), name, *scores, row.seeds, *quantity_cells(table, row)]


def quantity_heads(table: Table) -> list[str]:
    """The heads of the columns after the seeds."""
    return [column.head for column in table.quantities]


def quantity_cells(table: Table, row: Row) -> list[str]:
    """The cells of the columns after the seeds; empty where a row has no value."""
    cells = []
    for column, mean, deviation in known_quantities(table, row):
        form = _form(mean, column.is_counted)
        cells.append("" if mean is None else mean_cell(mean, deviation, form))
    return cells


def known_quantities(
    table: Table, row: Row
) -> Iterator[tuple[QuantityColumn, float | None, float | None]]:
    """The columns after the seeds, with mean and standard deviation of a row; null for imported and
    published rows, which may have the names of measured ones."""
    is_measured = any(row is one for one in table.rows)
    for column in table.quantities:
        if is_measured:
            yield column, column.mean(row.name), column.deviation(row.name)
        else:
            yield column, None, None


def _form(value: float | None, is_counted: bool) -> str:
    """Four significant digits, or no decimals."""
    if value is None or is_counted or abs(value) >= 1000:
        return "{:,.0f}"
    return "{:,.1f}" if abs(value) >= 100 else "{:,.3f}"


def bold_places(table: Table, row: Row) -> list[int]:
    """Indices of the best scores in `row_cells`."""
    scores = enumerate(table.printed_scores(row), start=2)
    return [place for place, score in scores if score and score.best]


def _text(score: Score | None) -> str:
    return mean_cell(score.mean, score.sd) if score else MISSING


def number_cell(value: float | None, form: str) -> str:
    """A number in the format `form`, such as `{:.1f}`, with a minus sign as differences have it; a
    dash if it is null or not finite."""
    if value is None or not np.isfinite(value):
        return MISSING
    text = form.format(steady(value))
    return f"−{text[1:]}" if text.startswith("-") else text


def mean_cell(mean: float, deviation: float | None, form: str = "{:.1f}") -> str:
    """`84.6 ± 0.3`; a dash without a mean, and the mean alone without a standard deviation."""
    known = deviation is not None and np.isfinite([mean, deviation]).all()
    return number_cell(mean, form) + (f" ± {number_cell(deviation, form)}" if known else "")


def seeds_cell(values: ArrayLike, form: str = "{:.1f}") -> str:
    """Mean and sample standard deviation over seeds; a dash if a value is missing."""
    array = np.asarray(values, dtype=float)
    if not len(array):
        return MISSING
    return mean_cell(array.mean(), array.std(ddof=1) if len(array) > 1 else None, form)
