"""Batches of an evaluation hold every item once, within both bounds, as many as fit."""

from itertools import chain, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.finetuning import evaluation_batches as module
from harness.finetuning.evaluation_batches import evaluation_batches
from harness.finetuning.inputs import Encoded, Ragged


def encoded(items: list[list[int]]) -> Encoded:
    """Items with rows of these lengths."""
    rows = Ragged.of([[7] * length for item in items for length in item])
    return Encoded(rows, rows, np.zeros(len(items)), 0.0, np.cumsum([0, *map(len, items)]))


@given(
    items=st.lists(st.lists(st.integers(1, 12), min_size=1, max_size=4), max_size=30),
    max_items=st.integers(1, 9),
    max_positions=st.integers(1, 80),
)
def test_as_many_items_as_fit(items: list[list[int]], max_items: int, max_positions: int) -> None:
    def positions(batch: list[int]) -> int:
        return sum(len(items[i]) for i in batch) * max(max(items[i]) for i in batch)

    def fits(batch: list[int]) -> bool:
        return len(batch) <= max_items and positions(batch) <= max_positions

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MAX_POSITIONS", max_positions)
        batches = [one.tolist() for one in evaluation_batches(encoded(items), max_items)]
    assert list(chain(*batches)) == sorted(range(len(items)), key=lambda i: max(items[i]))
    assert all(fits(batch) or len(batch) == 1 for batch in batches)
    for batch, after in pairwise(batches):
        assert not fits([*batch, after[0]])


def test_an_item_of_one_row_each() -> None:
    rows = Ragged.of([[7] * length for length in (3, 1, 2)])
    data = Encoded(rows, rows, np.zeros(3), 0.0)
    assert [one.tolist() for one in evaluation_batches(data, 2)] == [[1, 2], [0]]
