"""By what the network tells the components of a mixture apart: mode tokens and segments.

Shapes: B rows, T positions.
"""

from dataclasses import replace

import numpy as np

from harness.pretraining.objectives.layout import Rows
from harness.pretraining.objectives.objective import Component
from harness.pretraining.objectives.transforms.array_ops import filled
from harness.pretraining.objectives.vocabulary import Vocabulary


def marked(rows: Rows, component: Component, vocabulary: Vocabulary) -> Rows:
    """Rows [B, T] with the segments and the mode token of a component, if it has any; with the
    token, they are [B, T + 1]."""
    if component.segments:
        rows = replace(rows, types=_types(rows, *component.segments))
    return _with_mode(rows, component.mode_token, vocabulary)


def _types(rows: Rows, first: int, second: int) -> np.ndarray:
    """[B, T] segment numbers, 0 at padding."""
    width = rows.tokens.shape[1]
    in_row = filled(rows.lengths, width)
    ends = rows.lengths if rows.first_segment is None else rows.first_segment
    return np.where(in_row, np.where(filled(ends, width), first, second), 0)


def _with_mode(rows: Rows, mode_token: str | None, vocabulary: Vocabulary) -> Rows:
    """Rows [B, T + 1] with a component's mode token after their first token, in the segment of that
    one; or `rows` [B, T]."""
    if mode_token is None:
        return rows
    mode = vocabulary.extra[mode_token]
    return Rows(
        np.insert(rows.tokens, 1, mode, axis=1),
        np.insert(rows.types, 1, rows.types[:, 0], axis=1),
        np.insert(rows.maskable, 1, False, axis=1),
        rows.lengths + 1,
        np.insert(rows.sentence_starts, 1, False, axis=1),
        None if rows.first_segment is None else rows.first_segment + 1,
        None if rows.identifiers is None else np.insert(rows.identifiers, 1, -1, axis=1),
    )
