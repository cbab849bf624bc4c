"""A table as LaTeX, in the style of booktabs."""

from collections.abc import Iterable, Sequence

from harness.leaderboard.cells import (
    DAGGER,
    DOUBLE_DAGGER,
    MISSING,
    all_notes,
    bold_places,
    cited_rows,
    heading,
    heads,
    marked_blocks,
    row_cells,
    row_marks,
)
from harness.leaderboard.table import Published, Row, Table

COMMANDS = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",  # LaTeX's default fonts have other signs in the places of these
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
}
LATEX_ESCAPES = str.maketrans({**{c: f"\\{c}" for c in "&%$#_{}"}, **COMMANDS})
SYMBOLS = {
    "±": r"$\pm$",
    "−": "$-$",
    "×": r"$\times$",
    MISSING: "--",
    DAGGER: r"$^\dagger$",
    DOUBLE_DAGGER: r"$^\ddagger$",
}


def latex(table: Table) -> str:
    """A `tabular`, another one for each block of rows that are not comparable, and the notes."""
    marks = row_marks(table)
    measured = [_tex_row(table, row, marks[row.name]) for row in table.rows]
    measured += [_tex_row(table, row) for row in table.references]
    for mark, block in marked_blocks(table, comparable=True):
        measured += ["\\midrule", *_group(table, mark, block)]
    lines = _tabular(table, measured)
    for mark, block in marked_blocks(table, comparable=False):
        lines += ["\\par\\medskip", *_tabular(table, _group(table, mark, block))]
    return "\n".join([*lines, *tex_notes(all_notes(table))]) + "\n"


def tex_notes(notes: Sequence[str]) -> list[str]:
    """Lines of notes in a small font; none without notes."""
    if not notes:
        return []
    return ["\\par{\\footnotesize", *(f"{tex(note)}\\par" for note in notes), "}"]


def tex(text: str) -> str:
    """Text with LaTeX's special characters escaped."""
    text = text.translate(LATEX_ESCAPES)
    for symbol, command in SYMBOLS.items():
        text = text.replace(symbol, command)
    return text


def tabular(align: str, head: Iterable[str], rows: Iterable[str]) -> list[str]:
    """Lines of a `tabular` environment.

    Args:
        align: one letter per column.
        head: escaped cells of the head.
        rows: escaped lines of the body.
    """
    return [
        f"\\begin{{tabular}}{{{align}}}",
        "\\toprule",
        " & ".join(head) + r" \\",
        "\\midrule",
        *rows,
        "\\bottomrule",
        "\\end{tabular}",
    ]


def _tabular(table: Table, rows: Sequence[str]) -> list[str]:
    align = f"rl{'r' * (len(table.columns) + table.shows_average)}c{'r' * len(table.quantities)}"
    return tabular(align, map(tex, heads(table)), rows)


def _tex_row(table: Table, row: Row, mark: str = "") -> str:
    cells = [tex(cell) for cell in row_cells(table, row, mark)]
    for place in bold_places(table, row):
        cells[place] = f"\\textbf{{{cells[place]}}}"
    return " & ".join(cells) + r" \\"


def _group(table: Table, mark: str, block: Published) -> list[str]:
    """Rows of one source under a line with the source and, if any, the reason why they are not
    comparable."""
    title = tex(heading(mark, block))
    return [
        f"\\multicolumn{{{table.width}}}{{l}}{{{title}}} \\\\",
        *(_tex_row(table, row, cited) for row, cited in cited_rows(mark, block)),
    ]
