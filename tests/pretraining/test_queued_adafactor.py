"""Adafactor that reads nothing of a GPU, against torch's."""

import copy
from typing import Any

import pytest
import torch
from torch import nn
from torch.optim import Adafactor

from harness.pretraining.optimization import make_optimizer
from harness.pretraining.optimizer import Optimizer
from harness.pretraining.optimizer_kinds import ADAFACTOR_EPS
from harness.pretraining.queued_adafactor import QueuedAdafactor

SHAPES = [(7, 4), (4,), (2, 3, 5), (1, 6), ()]


def weights(device: str = "cpu") -> list[nn.Parameter]:
    torch.manual_seed(0)
    return [nn.Parameter(torch.randn(shape).to(device)) for shape in SHAPES]


def assert_close(found: Any, expected: Any) -> None:
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6)


def updated(optimizer: torch.optim.Optimizer, number: int, seed: int = 0) -> None:
    """Updates with random gradients, of which one weight has none at first, and some are large."""
    generator = torch.Generator().manual_seed(seed)
    for update in range(number):
        for place, weight in enumerate(optimizer.param_groups[0]["params"]):
            gradient = torch.randn(weight.shape, generator=generator) * 10 ** (update % 3)
            missing = place == 1 and not update
            weight.grad = None if missing else gradient.to(weight.device)
        optimizer.step(lambda: 0.5)


@pytest.mark.parametrize("changes", [{}, {"weight_decay": 0.1}, {"d": 2.0}, {"lr": 1e-4}])
def test_weights_and_state_are_those_of_torch(changes: dict[str, Any]) -> None:
    settings = {"lr": 0.5, "eps": ADAFACTOR_EPS, **changes}
    expected, found = Adafactor(weights(), **settings), QueuedAdafactor(weights(), **settings)
    for number in (1, 4):
        updated(expected, number)
        updated(found, number)
        both = found.param_groups[0]["params"], expected.param_groups[0]["params"]
        for one, other in zip(*both, strict=True):
            assert_close(one, other)
            assert_close(found.state[one], expected.state[other])


def test_each_continues_the_other() -> None:
    first = QueuedAdafactor(weights(), eps=ADAFACTOR_EPS)
    updated(first, 2)
    second = Adafactor(copy.deepcopy(first.param_groups[0]["params"]), eps=ADAFACTOR_EPS)
    second.load_state_dict(copy.deepcopy(first.state_dict()))
    for optimizer in (first, second):
        updated(optimizer, 2, seed=1)
    for one, other in zip(
        first.param_groups[0]["params"], second.param_groups[0]["params"], strict=True
    ):
        assert_close(one, other)


@pytest.mark.parametrize(("device", "kind"), [("cpu", Adafactor), ("meta", QueuedAdafactor)])
def test_it_is_taken_on_gpus_and_reads_nothing(device: str, kind: type[Adafactor]) -> None:
    """On the meta device, what reads a value fails."""
    model = nn.Linear(3, 4, device=device)
    optimizer = make_optimizer(model, Optimizer(kind="adafactor", learning_rate=0.1))
    assert type(optimizer) is kind
    for weight in model.parameters():
        weight.grad = torch.ones_like(weight)
    optimizer.step()
