"""Predictions without texts, for data whose texts must not be published."""

import hashlib
from typing import Any

import numpy as np
import pandas as pd

COLUMNS = ("label", "prediction")


def without_texts(predictions: pd.DataFrame) -> pd.DataFrame:
    """Predictions (`harness.tasks.scores.predictions_frame`) whose texts are digests of them, so
    that only equal texts are equal. Empty texts remain."""
    hidden = {name: [_hidden(cell) for cell in predictions[name]] for name in COLUMNS}
    return predictions.assign(**hidden)


def has_texts(predictions: pd.DataFrame) -> bool:
    """Whether labels or predictions have texts."""
    return any(_is_text(cell) for name in COLUMNS for cell in predictions[name])


def _is_text(cell: Any) -> bool:
    return any(map(_is_text, cell)) if isinstance(cell, np.ndarray) else isinstance(cell, str)


def _hidden(cell: Any) -> Any:
    if isinstance(cell, np.ndarray):
        return [_hidden(one) for one in cell]
    is_text = isinstance(cell, str) and cell
    return hashlib.sha256(cell.encode()).hexdigest()[:12] if is_text else cell
