"""What a transform makes of a batch of rows."""

from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class Corrupted:
    """The text as the model gets it, and what of the original is to be told.

    Shapes: B rows, T positions of the original, S of the input, U of the dropped text.
    """

    inputs: np.ndarray
    """[B, S] int64, special tokens and padding included; S == T where `aligned`."""
    lengths: np.ndarray
    """[B] tokens of the inputs, padding not counted."""
    chosen: np.ndarray
    """[B, T] bool: tokens of the original that are hidden, changed or moved for prediction."""
    aligned: bool
    """Whether input position i stands for position i of the original."""
    dropped: tuple[np.ndarray, np.ndarray] | None = None
    """Target text of `dropped_spans`: [B, U] int64 padded, and [B] lengths; without end token."""
    spans: np.ndarray | None = None
    """[B, T] number of the span that a chosen token belongs to, from 0 in each row; -1 outside."""
    order: np.ndarray | None = field(default=None)
    """[B, T] place of each position in the factorisation order (XLNet): smaller is seen first."""
