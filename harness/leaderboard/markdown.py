"""Tables and text in GitHub's markdown."""

import re
from collections.abc import Sequence

MARKDOWN = re.compile(r"[\\|<*`\[&~$]|(?<![^\W_])_|_(?![^\W_])")
"""Characters with a meaning in GitHub's markdown; "_" inside a word has none."""


def markdown_table(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    text_columns: Sequence[int] = (0,),
    bold: Sequence[tuple[int, int]] = (),
) -> list[str]:
    """Lines of a table.

    Args:
        text_columns: left-aligned columns; the others are right-aligned.
        bold: (row, column) of the cells to set in bold.
    """
    align = [":--" if i in text_columns else "--:" for i in range(len(head))]
    cells = [[markdown_escape(cell) for cell in line] for line in (head, *rows)]
    for row, column in bold:
        cells[row + 1][column] = f"**{cells[row + 1][column]}**"
    cells.insert(1, align)
    return ["| " + " | ".join(line) + " |" for line in cells]


def markdown_escape(text: str) -> str:
    """Text in one line, with markdown's special characters escaped."""
    return " ".join(MARKDOWN.sub(r"\\\g<0>", text).split())
