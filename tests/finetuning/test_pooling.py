"""Pooling, mixing and standardisation of states, by hand."""

import numpy as np
import pytest
import torch

from harness.finetuning.heads.classifier import Standardise
from harness.finetuning.pooling import ScalarMix
from harness.models.pooling import pool

POOLED = {
    "cls": [1.0, -4.0],
    "last": [3.0, -5.0],
    "ends": [3.0, -4.0],
    "mean": [2.0, -4.5],
    "max": [3.0, -4.0],
    "mean_sqrt_len": [4 / 2**0.5, -9 / 2**0.5],
    "weighted_mean": [(1 + 2 * 3) / 3, (-4 + 2 * -5) / 3],
}


@pytest.mark.parametrize("pooling", POOLED)
def test_pooling_ignores_padding(pooling: str) -> None:
    states = torch.tensor([[[1.0, -4.0], [3.0, -5.0], [99.0, 99.0]]])
    found = pool(states, torch.tensor([[1, 1, 0]]), pooling)
    assert found.tolist() == [pytest.approx(POOLED[pooling])]


def test_a_mix_of_layers_by_hand() -> None:
    layers = [torch.full((1, 2, 3), value) for value in (1.0, 2.0, 6.0)]
    mix = ScalarMix(3)
    torch.testing.assert_close(mix(layers), torch.full((1, 2, 3), 3.0))
    with torch.no_grad():
        mix.weights.copy_(torch.tensor([0.0, 1.0, 2.0]))
        mix.gamma.fill_(2.0)
    shares = np.exp([0.0, 1.0, 2.0]) / np.exp([0.0, 1.0, 2.0]).sum()
    torch.testing.assert_close(mix(layers)[0, 0, 0].item(), 2 * float(shares @ [1.0, 2.0, 6.0]))


def test_a_batch_of_one_is_standardised_by_running_statistics() -> None:
    torch.manual_seed(0)
    layer = Standardise(4, affine=False).train()
    for _ in range(200):
        layer(5 + 2 * torch.randn(32, 4))
    one = layer(torch.full((1, 4), 7.0))
    torch.testing.assert_close(one, torch.ones(1, 4), atol=0.2, rtol=0)
