"""Several networks trained as one learn what each learns alone."""

import pytest
import torch

from benchmarks import batched_seeds
from benchmarks.batched_seeds import SHAPES, Shape


@pytest.mark.parametrize("shape", [Shape(16, 3, 8), Shape(32, 1, 12)])
def test_losses_of_all_updates_agree(shape: Shape) -> None:
    alone, together = batched_seeds.trainings(shape, seeds=3)
    losses = []
    for _ in range(5):
        each = torch.stack([one.update() for one in alone])
        torch.testing.assert_close(together.update(), each.sum(), rtol=1e-4, atol=0)
        losses.append(float(each.sum()))
    assert losses[-1] < losses[0]
    assert len({float(one.update()) for one in alone}) == 3  # the seeds differ


def test_shapes_have_predictions() -> None:
    assert all(shape.num_predicted for shape in SHAPES.values())
