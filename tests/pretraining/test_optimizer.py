"""Optimiser: schedules against transformers', AdamW with and without bias correction by hand."""

import math
from typing import Any

import pytest
import torch
from torch import nn
from transformers import (
    get_constant_schedule_with_warmup,
    get_cosine_schedule_with_warmup,
    get_linear_schedule_with_warmup,
)

from harness.pretraining.optimizer import (
    Optimizer,
    Schedule,
    configure,
    learning_rate_factor,
    make_adamw,
    parameter_groups,
    warmup_updates,
)


class Model(nn.Module):
    """Named as transformers names its embeddings."""

    def __init__(self) -> None:
        super().__init__()
        self.embeddings = nn.ModuleDict({"word_embeddings": nn.Embedding(7, 4)})
        self.linear = nn.Linear(4, 3)
        self.norm = nn.LayerNorm(3)

    def get_input_embeddings(self) -> nn.Module:
        return self.embeddings["word_embeddings"]

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.norm(self.linear(self.embeddings["word_embeddings"](ids)))


@pytest.mark.parametrize(
    ("decay", "reference"),
    [
        ("linear", lambda o, w, n: get_linear_schedule_with_warmup(o, w, n)),
        ("cosine", lambda o, w, n: get_cosine_schedule_with_warmup(o, w, n)),
        ("constant", lambda o, w, n: get_constant_schedule_with_warmup(o, w)),
    ],
)
@pytest.mark.parametrize(("warmup", "steps"), [(0, 10), (3, 10), (10, 10), (1, 1)])
def test_schedules_equal_those_of_transformers(
    decay: Any, reference: Any, warmup: int, steps: int
) -> None:
    optimizer = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=1.0)
    scheduler = reference(optimizer, warmup, steps)
    schedule = Schedule(warmup_steps=warmup, decay=decay)
    for step in range(steps + 1):
        expected = scheduler.get_last_lr()[0]
        assert learning_rate_factor(schedule, step, steps) == pytest.approx(expected, abs=1e-12)
        optimizer.step()
        scheduler.step()


@pytest.mark.parametrize(("warmup", "steps"), [(0, 10), (4, 100), (10_000, 2**19)])
def test_t5_rate(warmup: int, steps: int) -> None:
    """Raffel et al. 2020, section 3.1.2: 1/sqrt(max(n, k)) at the n-th update."""
    schedule = Schedule(warmup_steps=warmup, decay="inverse_sqrt")
    k = max(1, warmup)
    for n in {0, 1, k - 1, k, k + 1, 4 * k, steps}:
        expected = 1 / math.sqrt(max(n, k)) / (1 / math.sqrt(k))
        assert learning_rate_factor(schedule, n, steps) == pytest.approx(expected)
    assert learning_rate_factor(schedule, 4 * k, steps) == pytest.approx(0.5)


def test_warmup_by_share_and_its_bound() -> None:
    assert warmup_updates(Schedule(warmup_fraction=0.06), 100) == 6
    with pytest.raises(ValueError, match="at most the number of updates, here 10"):
        warmup_updates(Schedule(warmup_steps=11), 10)


def test_decay_spares_biases_and_norms_and_embeddings_have_their_rate() -> None:
    settings = Optimizer(learning_rate=0.1, weight_decay=0.3, embedding_learning_rate_factor=5.0)
    groups = parameter_groups(Model(), settings)
    found = {
        (group["weight_decay"], round(group["lr"], 6)): sum(p.numel() for p in group["params"])
        for group in groups
    }
    assert found == {(0.3, 0.5): 28, (0.3, 0.1): 12, (0.0, 0.1): 9}


def train(settings: Optimizer, steps: int) -> tuple[Model, Model]:
    """A model trained by our optimiser, and one by BERT's formula or torch's plain AdamW."""
    torch.manual_seed(0)
    ours, theirs = Model(), Model()
    theirs.load_state_dict(ours.state_dict())
    optimizer = make_adamw(ours, settings)
    moments = {
        p: (torch.zeros_like(p, dtype=torch.float64), torch.zeros_like(p, dtype=torch.float64))
        for p in theirs.parameters()
    }
    for step in range(1, steps + 1):
        for model in (ours, theirs):
            model.zero_grad()
            (model(torch.tensor([1, 2, 3])) - torch.arange(3)).square().sum().backward()
        optimizer.step()
        for parameter, (m, v) in moments.items():
            update_by_hand(parameter, m, v, settings, step)
    return ours, theirs


def update_by_hand(
    parameter: nn.Parameter, m: torch.Tensor, v: torch.Tensor, settings: Optimizer, step: int
) -> None:
    """google-research/bert `AdamWeightDecayOptimizer`, or with Kingma and Ba's corrections."""
    assert parameter.grad is not None
    gradient = parameter.grad.double()
    m.mul_(settings.beta1).add_((1 - settings.beta1) * gradient)
    v.mul_(settings.beta2).add_((1 - settings.beta2) * gradient**2)
    first, second = m, v
    if settings.bias_correction:
        first, second = m / (1 - settings.beta1**step), v / (1 - settings.beta2**step)
    update = first / (second.sqrt() + settings.eps)
    if parameter.ndim > 1:
        update = update + settings.weight_decay * parameter.double()
    with torch.no_grad():
        parameter.sub_((settings.learning_rate * update).float())


@pytest.mark.parametrize("bias_correction", [True, False])
def test_updates_equal_the_formula(bias_correction: bool) -> None:
    settings = Optimizer(learning_rate=0.01, weight_decay=0.1, bias_correction=bias_correction)
    ours, theirs = train(settings, 20)
    for a, b in zip(ours.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-6)


def test_without_correction_the_first_step_differs_by_a_known_factor() -> None:
    """(1 - beta1) / sqrt(1 - beta2) of the step with correction."""
    for beta2, factor in ((0.99, 1.0), (0.999, math.sqrt(10))):
        moved = []
        for bias_correction in (True, False):
            model = nn.Linear(1, 1, bias=False)
            before = model.weight.item()
            settings = Optimizer(
                learning_rate=1e-3,
                weight_decay=0,
                eps=1e-12,
                beta2=beta2,
                bias_correction=bias_correction,
            )
            optimizer = make_adamw(model, settings)
            model(torch.ones(1, 1)).sum().backward()
            optimizer.step()
            moved.append(before - model.weight.item())
        assert moved[1] / moved[0] == pytest.approx(factor, rel=1e-3)


def test_configure_follows_the_schedule() -> None:
    model = Model()
    parts = configure(model, Optimizer(learning_rate=1.0), Schedule(warmup_steps=2), 4)
    scheduler, rates = parts["lr_scheduler"]["scheduler"], []
    for _ in range(4):
        rates.append(scheduler.get_last_lr()[0])
        parts["optimizer"].step()
        scheduler.step()
    assert rates == [0.0, 0.5, 1.0, 0.5]
