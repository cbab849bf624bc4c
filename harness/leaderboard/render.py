"""A table as markdown, csv, html or latex. Equal tables give equal bytes."""

from collections.abc import Callable, Sequence

from harness.core.csv_text import csv_text
from harness.leaderboard.cells import (
    all_notes,
    bold_places,
    cited_rows,
    heads,
    known_quantities,
    marked_blocks,
    row_cells,
    shown_rows,
)
from harness.leaderboard.column_labels import column_label
from harness.leaderboard.html import html
from harness.leaderboard.latex import latex
from harness.leaderboard.markdown import markdown_escape, markdown_table
from harness.leaderboard.signals import board_signal_table
from harness.leaderboard.table import Row, Table
from harness.leaderboard.text_tables import Format, render_text_tables


def render(table: Table, format: Format) -> str:
    """`table` as text, with the signal and noise of its columns below it if they are known. CSV is
    one table, and has none.

    Raises:
        ValueError: an unknown format.
    """
    if format not in FORMATS:
        raise ValueError(f"unknown format {format!r}; known: {', '.join(FORMATS)}")
    text, signals = FORMATS[format](table), board_signal_table(table)
    if signals is None or format == "csv":
        return text
    return f"{text}\n{render_text_tables([signals], format)}"


def markdown(table: Table) -> str:
    """Tables of GitHub's markdown: one, and another for each block of published rows that are not
    comparable."""
    return f"{measured_markdown(table)}\n\n{markdown_notes(table)}\n"


def measured_markdown(table: Table) -> str:
    """The measured rows, the reference levels, and the published rows comparable with them."""
    return "\n".join(_markdown_rows(table, shown_rows(table)))


def markdown_notes(table: Table) -> str:
    """The blocks of published rows that are not comparable, and the notes."""
    lines = []
    for mark, block in marked_blocks(table, comparable=False):
        title = f"{block.kind}{mark}: {block.source}; {block.split}. {block.reason}"
        rows = _markdown_rows(table, cited_rows(mark, block))
        lines += [markdown_escape(title), "", *rows, ""]
    return "\n".join([*lines, *(f"- {markdown_escape(note)}" for note in all_notes(table))])


def _markdown_rows(table: Table, rows: Sequence[tuple[Row, str]]) -> list[str]:
    lines = [row_cells(table, row, mark) for row, mark in rows]
    bold = [(i, j) for i, (row, _) in enumerate(rows) for j in bold_places(table, row)]
    return markdown_table(heads(table), lines, text_columns=(1,), bold=bold)


def comma_separated(table: Table) -> str:
    """One line per row, with unrounded scores, seeds, source and protocol."""
    names = [*(column_label(column) for column in table.columns), "average"]
    head = ["kind", "rank", "arm"]
    head += [part for name in names for part in (name, f"{name} sd")]
    head += ["pretrain_seeds", "finetune_seeds"]
    for column in table.quantities:
        head += [column.name] if column.is_counted else [column.name, f"{column.name} sd"]
    head += ["split", "source", "suite", "average_rule"]
    lines: list[Sequence[object]] = [[*head, "protocol", "reason"]]
    kinds = [("measured", row) for row in table.rows]
    kinds += [("reference", row) for row in table.references]
    shared = [table.suite.name, table.average.name]
    for kind, row in kinds:
        values = _numbers(table, kind, row)
        notes = " ".join(table.row_notes.get(row.name, ())) if kind == "measured" else ""
        lines.append([*values, table.split, "", *shared, table.protocol, notes])
    for block in table.published:
        for row in block.rows:
            values = _numbers(table, block.kind.lower(), row)
            origin = [block.split, block.source, *shared, block.protocol, block.reason]
            lines.append([*values, *origin])
    return csv_text(lines)


def _numbers(table: Table, kind: str, row: Row) -> list[str]:
    scores = [
        "" if value is None else f"{value:.4f}"
        for score in (*row.scores, row.average)
        for value in ((score.mean, score.sd) if score else (None, None))
    ]
    seeds = [str(count or "") for count in row.seed_counts]
    return [kind, str(row.rank or ""), row.name, *scores, *seeds, *_quantities(table, row)]


def _quantities(table: Table, row: Row) -> list[str]:
    cells = []
    for column, *values in known_quantities(table, row):
        form = "{:.0f}" if column.is_counted else "{:.6g}"
        shown = values[:1] if column.is_counted else values
        cells += ["" if value is None else form.format(value) for value in shown]
    return cells


FORMATS: dict[str, Callable[[Table], str]] = {
    "md": markdown,
    "csv": comma_separated,
    "html": html,
    "latex": latex,
}
