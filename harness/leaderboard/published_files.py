"""Files of published tables, as text, and checks of their cells."""

import math
from collections.abc import Sequence
from pathlib import Path
from warnings import catch_warnings

import pandas as pd
from pandas.errors import ParserWarning

CELL = ["task", "split", "metric"]
"""Columns that identify a printed number of a system."""
FILES = {
    "index": (
        *("table", "kind", "title", "citation", "printed_in", "split", "protocol", "apart"),
        *("unit", "average", "checked", "notes"),
    ),
    "columns": ("table", "column", "unit", "meaning"),
    "exceptions": ("table", "system", "task", "why"),
    "claims": ("claim", "table", "first", "second", "tasks", "within"),
}
"""File beside the tables to its columns."""
LOSSES = ("masked_lm_loss",)
"""Metrics without an upper bound."""


def read_file(path: Path, columns: Sequence[str] = ()) -> pd.DataFrame:
    """The cells of a CSV file as text.

    Args:
        columns: those that it must have.

    Raises:
        ValueError: it cannot be read, lacks a column, or has a character without a mark.
    """
    try:
        with catch_warnings(action="error", category=ParserWarning):  # of rows that are cut off
            frame = pd.read_csv(path, dtype=str, keep_default_na=False, index_col=False)
    except (OSError, ValueError, ParserWarning) as error:  # errors of the parser are one of them
        reason = " ".join(str(error).split())
        raise ValueError(f"{path} must be a CSV file in UTF-8, but: {reason}") from None
    if missing := [name for name in columns if name not in frame]:
        raise ValueError(
            f"{path} must have the columns {', '.join(columns)}, but lacks {', '.join(missing)}"
        )
    for place, name in enumerate(frame, start=1):
        if not str(name).isprintable():
            raise ValueError(
                f"{path}: column {place} must have visible text as its name, but has {name!a:.80}"
            )
    for name, column in frame.items():
        for row, cell in enumerate(column, start=1):
            if not cell.isprintable():
                raise ValueError(
                    f"{path}: row {row} must have visible text in {name:.80}, but has {cell!a:.80}"
                )
    return frame


def read_scores(path: Path) -> pd.DataFrame:
    """The cells of a table of scores as text: one row per system, task, split and metric, with its
    `value`.

    Raises:
        ValueError: as `read_file`, or a value is no score of its metric, or is given twice.
    """
    frame = read_file(path, [*CELL, "value"])
    if not len(frame) or frame.columns[0] in (*CELL, "value", "sd"):
        raise ValueError(f"{path} must have systems in its first column, and rows")
    for row, (metric, value) in enumerate(
        frame[["metric", "value"]].itertuples(index=False), start=1
    ):
        most = math.inf if metric in LOSSES else 100.0
        least = 0.0 if metric in LOSSES else -100.0
        _check_number(path, row, metric, value, least, most)
    for row, value in enumerate(frame.get("sd", ()), start=1):
        if value:
            _check_number(path, row, "sd", value, 0.0, 100.0)
    identity = [name for name in frame if name not in ("value", "sd")]
    twice = frame.duplicated(identity)
    if twice.any():
        row = int(twice.to_numpy().argmax()) + 1
        given = ", ".join(filter(None, frame[identity].iloc[row - 1]))
        raise ValueError(f"{path}: row {row} gives a value again: {given}")
    return frame


def _check_number(path: Path, row: int, name: str, text: str, least: float, most: float) -> None:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not least <= number <= most or not math.isfinite(number):
        above = f" to {most:g}" if math.isfinite(most) else " or more"
        raise ValueError(
            f"{path}: row {row} must have a number of {least:g}{above} as its {name:.80}, but "
            f"has {text!a:.80}"
        )
