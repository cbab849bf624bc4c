"""The base of all transforms, and what a transform returns."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from harness.core.config import ConfigModel


class Transform(ConfigModel):
    """Settings of a transform; `kind` names it in an experiment."""

    if TYPE_CHECKING:  # each transform declares its own literal
        kind: str

    @property
    def gap_filler(self) -> str | None:
        """Input in place of missing tokens; None if the model never sees a gap.

        One of `sentinel`, `mask`, `mask_per_token`, `nothing`.
        """
        return None


@dataclass(frozen=True)
class TransformResult:
    """The input text, and the tokens of the original text to predict.

    Shapes: B rows, T positions of the original, S of the input, U of the dropped text.
    """

    inputs: np.ndarray
    """[B, S] int64, special tokens and padding included; S == T where `aligned`."""
    lengths: np.ndarray
    """[B] tokens of the inputs, padding not counted."""
    chosen: np.ndarray
    """[B, T] bool: tokens of the original text that are masked, changed or moved."""
    aligned: bool
    """Whether input position i corresponds to position i of the original text."""
    dropped: tuple[np.ndarray, np.ndarray] | None = None
    """Target text of `dropped_spans`: [B, U] int64 padded, and [B] lengths; without end token."""
    spans: np.ndarray | None = None
    """[B, T] index of the span of each chosen token within its row; -1 elsewhere."""
    order: np.ndarray | None = None
    """[B, T] rank of each position in the factorisation order (XLNet), -1 if not chosen."""
    window: np.ndarray | None = None
    """[B, T] tokens on each side that each position predicts (skip-gram), 0 of special tokens."""

    def __post_init__(self) -> None:
        """Checks the arrays that every result has.

        Raises:
            ValueError: an array has another number of dimensions or another type.
        """
        for name, (shape, kind) in FORMS.items():
            array = np.asarray(getattr(self, name))
            if array.ndim != shape.count(",") + 1 or array.dtype != kind:
                raise ValueError(
                    f"TransformResult.{name} must be {shape} {kind}, but is "
                    f"{list(array.shape)} {array.dtype}"
                )


INT64, BOOL = np.dtype(np.int64), np.dtype(np.bool)
FORMS = {"inputs": ("[B, S]", INT64), "lengths": ("[B]", INT64), "chosen": ("[B, T]", BOOL)}
"""Array of every result to its shape and type."""


def stack(parts: Sequence[TransformResult], width: int, pad: int) -> TransformResult:
    """Results concatenated to one batch, with `width` positions of the original text."""
    aligned = all(part.aligned for part in parts)
    longest = width if aligned else max(part.inputs.shape[1] for part in parts)
    dropped = None
    if all(part.dropped is not None for part in parts):
        texts = [part.dropped for part in parts if part.dropped is not None]
        room = max(text.shape[1] for text, _ in texts)
        dropped = (
            _padded([text for text, _ in texts], room, pad),
            np.concatenate([lengths for _, lengths in texts]),
        )
    return TransformResult(
        inputs=_padded([part.inputs for part in parts], longest, pad),
        lengths=np.concatenate([part.lengths for part in parts]),
        chosen=_padded([part.chosen for part in parts], width, False),
        aligned=aligned,
        dropped=dropped,
        spans=_joined([part.spans for part in parts], width, -1),
        order=_joined([part.order for part in parts], width, 0),
        window=_joined([part.window for part in parts], width, 0),
    )


def _joined(arrays: Sequence[np.ndarray | None], width: int, fill: int) -> np.ndarray | None:
    given = [array for array in arrays if array is not None]
    return _padded(given, width, fill) if len(given) == len(arrays) else None


def _padded(arrays: Sequence[np.ndarray], width: int, fill: int | bool) -> np.ndarray:
    """Rows of several arrays below one another; np.pad of each would take four times as long."""
    found = np.full((sum(map(len, arrays)), width), fill, dtype=arrays[0].dtype)
    first = 0
    for array in arrays:
        found[first : first + len(array), : array.shape[1]] = array
        first += len(array)
    return found
