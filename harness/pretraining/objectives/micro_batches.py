"""Batches cut into micro-batches and shares.

Shapes: B sequences, T input positions, U decoder positions, S positions of a crop.
"""

import numpy as np

from harness.pretraining.objectives.targets import Batch


def rows_within(batch: Batch, max_tokens: int) -> int:
    """Rows of inputs [B, T], [B, U], [B, S] with at most `max_tokens` positions; at least one."""
    read_by = ("input_ids", "decoder_input_ids", "previous_input_ids", "crop_input_ids")
    width = sum(batch[name].shape[1] for name in read_by if name in batch)
    return max(1, max_tokens // width)


def split(batch: Batch, max_tokens: int) -> list[Batch]:
    """The batch of inputs [B, T] in parts of at most `max_tokens` positions, or of one sequence."""
    num_rows = len(batch["input_ids"])
    size = rows_within(batch, max_tokens)
    if size >= num_rows:
        return [batch]
    return [cut(batch, first, min(first + size, num_rows)) for first in range(0, num_rows, size)]


FLAT = {
    "positions": ("targets", "negatives", "counts", "span_left", "span_right", "span_offset"),
    "backward_positions": ("backward_targets",),
    "previous_positions": ("previous_targets",),
}
"""Arrays of ascending positions, and the arrays aligned with each."""


def cut(batch: Batch, first: int, last: int) -> Batch:
    """The rows from `first` to before `last` of inputs [B, T], as a batch."""
    part = {}
    for name, followers in FLAT.items():
        if name in batch:
            width = _width(batch, name)
            begin, end = np.searchsorted(batch[name], (first * width, last * width))
            part[name] = batch[name][begin:end] - first * width
            for follower in followers:
                if follower in batch:
                    moved = first * width if follower in ("span_left", "span_right") else 0
                    part[follower] = batch[follower][begin:end] - moved
    return {name: part[name] if name in part else batch[name][first:last] for name in batch}


def _width(batch: Batch, name: str) -> int:
    """Positions of a row that the flat positions count."""
    counted = {
        "positions": ("predicted", "decoder_input_ids"),
        "previous_positions": ("previous_input_ids",),
    }
    arrays = (array for array in counted.get(name, ()) if array in batch)
    return int(batch[next(arrays, "input_ids")].shape[1])
