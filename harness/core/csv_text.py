"""Comma-separated text for spreadsheets, in which no text cell is a formula."""

import csv
import io
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""Beginnings of cells that spreadsheets evaluate (OWASP, CSV injection)."""
NUMBER = re.compile(r"[-+]?(\d[\d.,e%±()\[\] +-]*|inf|nan)")
"""A number, perhaps with its spread or interval: `-0.5`, `+1.2 [-0.3, 2.7]`."""


def csv_text(lines: Iterable[Sequence[object]]) -> str:
    """Lines of cells as comma-separated text."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([safe_cell(cell) for cell in line] for line in lines)
    return text.getvalue()


def frame_csv(frame: "pd.DataFrame") -> str:
    """A frame without its index as comma-separated text."""
    safe = frame.rename(columns=safe_cell)
    for place, dtype in enumerate(frame.dtypes):
        if dtype.kind == "O":
            safe.isetitem(place, frame.iloc[:, place].map(safe_cell).to_numpy())
    return safe.to_csv(index=False, lineterminator="\n")


def safe_cell(cell: object) -> object:
    """A cell; text that begins like a formula, and is no number, has an apostrophe before it."""
    is_formula = isinstance(cell, str) and cell.startswith(FORMULA) and not NUMBER.fullmatch(cell)
    return f"'{cell}" if is_formula else cell
