"""Rows of a random batch, run through the network in groups of similar lengths.

Short rows need not be padded to the longest of the batch. The states of a row do not depend on the
other rows, so losses and gradients are those of the whole batch.

Shapes: B rows, T tokens, H hidden size.
"""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from harness.finetuning.inputs import Batch

INPUTS = ("input_ids", "token_type_ids", "attention_mask")
GROUPS = (1, 2, 4)
"""Numbers of groups among which the cheapest is chosen."""
PASS_POSITIONS = 200
"""Positions that take as long as one more pass through the layers, whatever its size, on one thread
at `nano` (about 40 at `small`); measured by `benchmarks/finetuning_inputs.py`."""


def length_groups(lengths: Sequence[int], pass_positions: int) -> list[np.ndarray]:
    """Indices of the rows of each group: as many groups of equal size as are cheapest.

    Args:
        lengths: [B] tokens of each row.
        pass_positions: cost of one more pass, in positions.
    """
    order, sizes = np.argsort(lengths, kind="stable"), np.asarray(lengths)
    options = [np.array_split(order, num) for num in GROUPS if num <= len(order)]

    def cost(groups: list[np.ndarray]) -> int:
        positions = sum(len(rows) * int(sizes[rows].max()) for rows in groups)
        return positions + pass_positions * len(groups)

    return min(options, key=cost)


def states_by_length(states: Callable[[Batch], Tensor], batch: Batch) -> Tensor:
    """[B, T, H] states of a batch, zeros at padding beyond a row's group.

    Args:
        states: from the INPUTS [N, L] of N rows to their states [N, L, H].
    """
    if batch["input_ids"].device.type != "cpu":  # a GPU is not filled by a small batch as it is
        return states(batch)
    lengths = batch["attention_mask"].sum(1).tolist()
    groups = length_groups(lengths, PASS_POSITIONS)
    if len(groups) == 1:
        return states(batch)
    width, parts = batch["input_ids"].shape[1], []
    for rows in map(torch.from_numpy, groups):
        longest = max(lengths[row] for row in rows)
        part = states({name: batch[name][rows, :longest] for name in INPUTS})
        parts.append(F.pad(part, (0, 0, 0, width - longest)))
    return torch.cat(parts)[torch.from_numpy(np.argsort(np.concatenate(groups)))]
