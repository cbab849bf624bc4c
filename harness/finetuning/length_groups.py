"""Rows of a random batch, run through the network in groups of similar lengths.

Short rows need not be padded to the longest of the batch. The states of a row do not depend on the
other rows, so losses and gradients are those of the whole batch.

Shapes: B rows, T tokens, H hidden size.
"""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from harness.finetuning.inputs import Batch

INPUTS = ("input_ids", "token_type_ids", "attention_mask")
GROUPS = (1, 2, 4)
"""Numbers of groups among which the cheapest is chosen."""
CPU_PASS_POSITIONS = 200
"""Positions that take as long as one more pass through the layers, whatever its size, on one thread
at `nano` (about 40 at `small`); measured by `benchmarks/finetuning_inputs.py`."""
GPU_PASS_POSITIONS = 16_384
"""The same on a GPU, which is far from filled by a small batch; an assumption."""


def length_groups(
    lengths: Sequence[int], pass_positions: int = CPU_PASS_POSITIONS
) -> list[np.ndarray]:
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
    """[B, T, H] states of a batch, zeros at padding that no group needs.

    Args:
        states: from the INPUTS [N, L] of N rows to their states [N, L, H].
    """
    lengths = batch["attention_mask"].sum(1).tolist()
    on_cpu = batch["input_ids"].device.type == "cpu"
    groups = length_groups(lengths, CPU_PASS_POSITIONS if on_cpu else GPU_PASS_POSITIONS)
    if len(groups) == 1:
        return states(batch)
    out: Tensor | None = None
    for rows in groups:
        longest = max(lengths[row] for row in rows)
        index = torch.from_numpy(rows).to(batch["input_ids"].device)
        part = states({name: batch[name][index, :longest] for name in INPUTS})
        if out is None:
            out = part.new_zeros(*batch["input_ids"].shape, part.shape[-1])
        out[index, :longest] = part
    assert out is not None
    return out
