"""Checks of the values of imported examples, which are JSON."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from harness.exchange.results.schema import CELL
from harness.tasks.metrics import METRICS

Widths = Mapping[str, int]
"""Metric to how many counts an example has."""


def check_values(path: Path, examples: pd.DataFrame) -> None:
    """Checks labels, predictions and counts, which boards and comparisons read later.

    Args:
        path: the file, for error messages.
        examples: with the columns of EXAMPLES.

    Raises:
        ValueError: a cell is not the JSON of `docs/results.md`, or examples of a run have different
            numbers of counts, or not as many as the metric.
    """
    for name in ("label", "prediction"):
        for text in examples[name].dropna().unique():
            if not _is_plain(_loaded(text)):
                raise ValueError(
                    f"{path}: {name} must be JSON of a number, a text or a list of them, but is "
                    f"{text[:40]!a}"
                )
    widths = {text: _widths(path, text) for text in examples["counts"].dropna().unique()}
    runs = examples[["source", *CELL, "counts"]].dropna(subset="counts")
    for _, texts in runs.groupby(["source", *CELL])["counts"]:
        _check_widths(path, [widths[text] for text in texts.unique()])


def _loaded(text: str) -> Any:
    """A value from JSON; `...`, which no JSON gives, if the text is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return ...


def _is_plain(value: Any) -> bool:
    if isinstance(value, list):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, str) or _is_number(value)


def _is_number(value: Any) -> bool:
    """Whether a value is a number that a float can hold, NaN included."""
    if not isinstance(value, int | float):
        return False
    try:
        float(value)
    except OverflowError:
        return False
    return True


def _widths(path: Path, text: str) -> Widths:
    """Raises ValueError for a text that is not metrics with lists of numbers."""
    found = _loaded(text)
    lists = [*found.values()] if isinstance(found, dict) else [None]
    if not all(isinstance(one, list) and one and all(map(_is_number, one)) for one in lists):
        raise ValueError(
            f"{path}: counts must be JSON of metrics with lists of numbers, but are {text[:40]!a}"
        )
    return {metric: len(one) for metric, one in found.items()}


def _check_widths(path: Path, found: list[Widths]) -> None:
    """Raises ValueError for counts of a run that cannot be summed to its scores."""
    for metric in {name for one in found for name in one}:
        numbers = {one[metric] for one in found if metric in one}
        if len(numbers) > 1:
            raise ValueError(
                f"{path}: all examples of a run must have as many counts of {metric}, but they "
                f"have {min(numbers)} and {max(numbers)}"
            )
        width = numbers.pop()
        if metric in METRICS and not _gives_a_score(metric, width):
            raise ValueError(
                f"{path}: counts of {metric} must be those of harness/tasks/metrics/, but are "
                f"{width} in an example"
            )


def _gives_a_score(metric: str, width: int) -> bool:
    try:
        return np.shape(METRICS[metric].from_counts(np.ones((2, width)))) == (2,)
    except (ValueError, LookupError):
        return False
