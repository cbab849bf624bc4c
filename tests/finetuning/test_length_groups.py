"""Groups of similar lengths: every row once, never dearer than one group, states as without."""

from collections.abc import Sequence

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from harness.finetuning import length_groups as groups
from harness.finetuning.inputs import Batch

LENGTHS = st.lists(st.integers(1, 600), min_size=1, max_size=64)


def positions(lengths: Sequence[int], rows: Sequence[np.ndarray]) -> int:
    return sum(len(group) * max(lengths[row] for row in group) for group in rows)


@given(LENGTHS)
def test_every_row_is_in_one_group_and_no_group_costs_more(lengths: list[int]) -> None:
    found = groups.length_groups(lengths, 300)
    assert sorted(np.concatenate(found)) == list(range(len(lengths)))
    cost = positions(lengths, found) + 300 * len(found)
    assert cost <= len(lengths) * max(lengths) + 300


def test_by_hand() -> None:
    short, long = [10] * 16, [500] * 16
    assert len(groups.length_groups(short + long, 2000)) == 2  # 16 x 490 positions saved
    assert len(groups.length_groups(short, 2000)) == 1  # nothing to save
    assert len(groups.length_groups([10, 500], 2000)) == 1  # too little to save
    (first, second) = groups.length_groups(long + short, 2000)
    assert sorted(first) == list(range(16, 32)) and sorted(second) == list(range(16))


def test_states_stand_at_their_rows() -> None:
    lengths = [500, 10] * 16
    ids = torch.zeros(32, 500, dtype=torch.int64)
    for row, length in enumerate(lengths):
        ids[row, :length] = row * 1000 + torch.arange(length) + 1
    batch = {"input_ids": ids, "token_type_ids": 0 * ids, "attention_mask": (ids > 0).long()}
    widths = []

    def states(part: Batch) -> torch.Tensor:
        widths.append(part["input_ids"].shape[1])
        return part["input_ids"].unsqueeze(-1).expand(-1, -1, 3).float()

    found = groups.states_by_length(states, batch)
    assert widths == [10, 500]
    assert torch.equal(found, ids.unsqueeze(-1).expand(-1, -1, 3).float())
