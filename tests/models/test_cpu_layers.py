"""Dropout and GELU on CPUs: those of torch and transformers, but for the random numbers."""

import math
from typing import Literal

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from torch import nn
from transformers.activations import ACT2FN

from harness.core.compute import Compute
from harness.models import FAMILIES, MODELS, Size
from harness.models.backbone import Backbone
from harness.models.blueprints import Tokens
from harness.models.build import build
from harness.models.cpu_layers import LEVELS, CpuDropout, dropout, replace_layers
from harness.pretraining.trainer import choose_kernels

SIZE = Size(num_layers=2, hidden_size=32, num_heads=2, intermediate_size=128)
NETWORKS = [
    (name, facts.representations[0])
    for name, facts in FAMILIES.items()
    if facts.kind not in ("baseline", "checkpoint")
]


@example(shape=[5], rate=1.0, seed=0)
@example(shape=[5], rate=0.0, seed=0)
@settings(deadline=None, max_examples=40)
@given(
    shape=st.lists(st.integers(0, 7), max_size=3),
    rate=st.floats(0.0, 1.0),
    seed=st.integers(0, 9),
)
def test_elements_are_zero_or_scaled(shape: list[int], rate: float, seed: int) -> None:
    torch.manual_seed(seed)
    states = torch.rand(shape) + 1.0
    states.requires_grad_()
    found = dropout(states, rate)
    assert found.shape == states.shape and found.dtype == states.dtype
    (gradient,) = torch.autograd.grad(found.sum(), states)
    kept = found != 0
    assert torch.equal(gradient != 0, kept)
    scale = 0.0 if round(rate * LEVELS) == LEVELS else 1 / (1 - round(rate * LEVELS) / LEVELS)
    torch.testing.assert_close(found[kept], states[kept] * scale)
    torch.testing.assert_close(gradient, kept * scale)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("rate", [0.02, 0.1, 0.5, 0.9])
def test_shares_are_those_of_independent_draws(rate: float, dtype: torch.dtype) -> None:
    """Of single elements and of pairs of neighbours, which share a random number; within 5 standard
    deviations."""
    torch.manual_seed(0)
    dropped = (dropout(torch.ones(400_000, dtype=dtype), rate) == 0).float()
    for lag in range(1, 6):
        pairs = dropped[:-lag] * dropped[lag:]
        assert abs(pairs.mean() - rate**2) < 5 * math.sqrt(3 * rate**2 / 400_000)
    assert abs(dropped.mean() - rate) < 5 * math.sqrt(rate * (1 - rate) / 400_000)


def test_torchs_generator_decides() -> None:
    layer = CpuDropout(0.5)
    found = []
    for seed in (3, 3, 4):
        torch.manual_seed(seed)
        found.append(layer(torch.ones(100)))
    assert torch.equal(found[0], found[1]) and not torch.equal(found[0], found[2])
    assert torch.equal(layer.eval()(torch.ones(100)), torch.ones(100))


def test_gelu_is_transformers() -> None:
    """Values and gradients."""
    model = nn.Sequential(ACT2FN["gelu_new"])
    states = torch.linspace(-6, 6, 500, dtype=torch.float64).requires_grad_()
    expected = model(states)
    replace_layers(model)
    assert isinstance(model[0], nn.GELU)
    found = model(states)
    torch.testing.assert_close(found, expected)
    slopes = (torch.autograd.grad(one.sum(), states)[0] for one in (found, expected))
    torch.testing.assert_close(*slopes)


def made(family: str, reading: str) -> Backbone:
    tokens = Tokens(vocab_size=40, pad=0, start=2, end=3, pair_format=True)
    fields = {"embedding_size": 16} if family in ("albert", "electra") else {}
    fields |= {"max_position": 64}
    return build(MODELS[family].model_copy(update=fields), SIZE, tokens, reading, seed=0)


@pytest.mark.parametrize(("family", "reading"), NETWORKS)
def test_every_family_is_the_same_without_dropout(family: str, reading: str) -> None:
    network, ids = made(family, reading).eval(), torch.randint(4, 40, (3, 12))
    inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    inputs |= {"token_type_ids": torch.zeros_like(ids)}
    if reading == "encoder_decoder":
        inputs |= {"decoder_input_ids": ids, "decoder_attention_mask": torch.ones_like(ids)}
    before, names = network(**inputs).last_hidden_state, set(network.state_dict())
    replace_layers(network)
    torch.testing.assert_close(network(**inputs).last_hidden_state, before)
    assert set(network.state_dict()) == names
    assert not any(type(part) is nn.Dropout for part in network.modules())


@pytest.mark.parametrize("precision", ["32-true", "bf16-mixed"])
def test_layers_are_replaced_in_bf16_alone(precision: Literal["32-true", "bf16-mixed"]) -> None:
    """Runs in float32 keep the random numbers that they had."""
    network = made("bert", "bidirectional")
    choose_kernels(network, Compute(precision=precision, accelerator="cpu"))
    replaced = any(isinstance(part, CpuDropout) for part in network.modules())
    assert replaced == (precision == "bf16-mixed")
