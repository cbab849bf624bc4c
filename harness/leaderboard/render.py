"""A table as markdown, csv, html or latex. Equal tables give equal bytes."""

import csv
import io
import re
from collections.abc import Callable, Sequence
from typing import Literal

from harness.leaderboard.cells import all_notes, apart, beside, bold_places, row_cells
from harness.leaderboard.html import html
from harness.leaderboard.latex import latex
from harness.leaderboard.table import Row, Table, column_label

Format = Literal["md", "csv", "html", "latex"]
MARKDOWN = re.compile(r"[\\|<*`\[&~$]|(?<![^\W_])_|_(?![^\W_])")
"""What GitHub's markdown may take for more than text; "_" inside a word it does not."""


def render(table: Table, format: Format) -> str:
    """`table` as text.

    Raises:
        ValueError: no such format.
    """
    if format not in FORMATS:
        raise ValueError(f"unknown format {format!r}; known: {', '.join(FORMATS)}")
    return FORMATS[format](table)


def markdown(table: Table) -> str:
    """A table of GitHub's markdown; published rows that do not compare in a table of their own."""
    together = [(row, mark) for mark, block in beside(table) for row in block.rows]
    measured = [(row, "") for row in (*table.rows, *table.references)]
    lines = _markdown_rows(table, [*measured, *together])
    for mark, block in apart(table):
        title = f"{block.kind}{mark}: {block.source}; {block.split}. {block.reason}"
        lines += ["", markdown_escape(title), ""]
        lines += _markdown_rows(table, [(row, mark) for row in block.rows])
    notes = [f"- {markdown_escape(note)}" for note in all_notes(table)]
    return "\n".join([*lines, "", *notes]) + "\n"


def _markdown_rows(table: Table, rows: Sequence[tuple[Row, str]]) -> list[str]:
    labels = [column_label(column) for column in table.columns]
    lines = [row_cells(table, row, mark) for row, mark in rows]
    bold = [(i, j) for i, (row, _) in enumerate(rows) for j in bold_places(row)]
    head = ["rank", "arm", "average", *labels, "seeds", *table.more_heads]
    return markdown_table(head, lines, text_columns=(1,), bold=bold)


def markdown_table(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    text_columns: Sequence[int] = (0,),
    bold: Sequence[tuple[int, int]] = (),
) -> list[str]:
    """Lines of a table; all columns but `text_columns` stand to the right. `bold` are places of
    (row, column)."""
    align = [":--" if i in text_columns else "--:" for i in range(len(head))]
    cells = [[markdown_escape(cell) for cell in line] for line in (head, *rows)]
    for row, column in bold:
        cells[row + 1][column] = f"**{cells[row + 1][column]}**"
    cells.insert(1, align)
    return ["| " + " | ".join(line) + " |" for line in cells]


def markdown_escape(text: str) -> str:
    """Text that markdown shows as it stands, in one line."""
    return " ".join(MARKDOWN.sub(r"\\\g<0>", text).split())


def comma_separated(table: Table) -> str:
    """One line per row, measured or not, with everything that a reader of numbers needs."""
    names = [*(column_label(column) for column in table.columns), "average"]
    head = ["kind", "rank", "arm"]
    head += [part for name in names for part in (name, f"{name} sd")]
    head += ["pretrain_seeds", "finetune_seeds", *_underlined(table.more_heads)]
    head += ["split", "source", "suite", "average_rule"]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*head, "protocol", "reason"])
    kinds = [("measured", row) for row in table.rows]
    kinds += [("reference", row) for row in table.references]
    shared = [table.suite.name, table.average.name]
    for kind, row in kinds:
        values = _numbers(table, kind, row)
        writer.writerow([*values, table.split, "", *shared, table.protocol, ""])
    for block in table.published:
        for row in block.rows:
            values = _numbers(table, block.kind.lower(), row)
            said = [*shared, block.protocol, block.reason]
            writer.writerow([*values, block.split, block.source, *said])
    return text.getvalue()


def _numbers(table: Table, kind: str, row: Row) -> list[str]:
    scores = [
        "" if value is None else f"{value:.4f}"
        for score in (*row.scores, row.average)
        for value in ((score.mean, score.sd) if score else (None, None))
    ]
    seeds = [str(count or "") for count in row.seed_counts]
    more = [cell.replace(",", "") for cell in table.more_cells(row)]
    return [kind, str(row.rank or ""), row.name, *scores, *seeds, *more]


def _underlined(names: Sequence[str]) -> list[str]:
    return [name.replace(" ", "_") for name in names]


FORMATS: dict[str, Callable[[Table], str]] = {
    "md": markdown,
    "csv": comma_separated,
    "html": html,
    "latex": latex,
}
