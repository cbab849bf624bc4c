"""Predictions without texts, for data whose texts must not be published."""

import hashlib
from typing import Any

import numpy as np
import pandas as pd

COLUMNS = ("label", "prediction")
GROUP = "group"


def without_texts(predictions: pd.DataFrame) -> pd.DataFrame:
    """Predictions (`harness.tasks.scores.predictions_frame`) whose texts are digests of them, so
    that only equal texts are equal. Empty texts remain.

    Groups that are named by texts of several words become numbers in the order of their names, by
    which metrics number them.
    """
    hidden = {name: [_hidden(cell) for cell in predictions[name]] for name in COLUMNS}
    if _has_named_groups(predictions):
        numbers = pd.factorize(predictions[GROUP], sort=True)[0]
        hidden[GROUP] = [f"{number:09d}" if number >= 0 else None for number in numbers]
    return predictions.assign(**hidden)


def has_texts(predictions: pd.DataFrame) -> bool:
    """Whether labels, predictions or names of groups have texts."""
    cells = (cell for name in COLUMNS for cell in predictions[name])
    return any(map(_is_text, cells)) or _has_named_groups(predictions)


def _has_named_groups(predictions: pd.DataFrame) -> bool:
    names = predictions.get(GROUP, ())
    return any(isinstance(name, str) and " " in name for name in names)


def _is_text(cell: Any) -> bool:
    return any(map(_is_text, cell)) if isinstance(cell, np.ndarray) else isinstance(cell, str)


def _hidden(cell: Any) -> Any:
    if isinstance(cell, np.ndarray):
        return [_hidden(one) for one in cell]
    is_text = isinstance(cell, str) and cell
    return hashlib.sha256(cell.encode()).hexdigest()[:12] if is_text else cell
