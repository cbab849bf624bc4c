"""The share of a batch that one of several processes (ranks) computes."""

from itertools import pairwise
from math import ceil

import numpy as np

from harness.pretraining.objectives.micro_batches import cut, rows_within
from harness.pretraining.objectives.targets import Batch


def share(batch: Batch, max_tokens: int, rank: int, num_ranks: int, seed: int) -> list[Batch]:
    """The micro-batches of a rank: a slice of the rows of each micro-batch of all ranks together.

    All ranks have equally many, none of them empty, of at most `max_tokens` positions as far as
    rows can be divided so. Each has an array `draws` [3] for random draws for its predictions that
    do not depend on the ranks: a seed, the number of the predictions [M] of all ranks, and that of
    those before its own.

    Args:
        batch: of the whole update, the same on all ranks.
        seed: of the update.

    Raises:
        ValueError: the batch has fewer rows than there are ranks.
    """
    num_rows = len(batch["input_ids"])
    if num_rows < num_ranks:
        raise ValueError(
            f"a batch must have a sequence for each device, but has {num_rows} for {num_ranks}; "
            "raise pretrain.batch_size, or lower compute.devices"
        )
    wanted = ceil(num_rows / (rows_within(batch, max_tokens) * num_ranks))
    bounds = _bounds(num_rows, min(wanted, num_rows // num_ranks))
    return [
        _slice(cut(batch, first, last), rank, num_ranks, (seed + number) % 2**64)
        for number, (first, last) in enumerate(pairwise(bounds))
    ]


def _slice(batch: Batch, rank: int, num_ranks: int, seed: int) -> Batch:
    first, last = _bounds(len(batch["input_ids"]), num_ranks)[rank : rank + 2]
    before = len(cut(batch, 0, first)["targets"])
    draws = np.array([seed, len(batch["targets"]), before], np.uint64)
    return cut(batch, first, last) | {"draws": draws}


def _bounds(num_rows: int, num_parts: int) -> list[int]:
    """Where each of `num_parts` parts of nearly equal size begins, and the end."""
    return [num_rows * part // num_parts for part in range(num_parts + 1)]
