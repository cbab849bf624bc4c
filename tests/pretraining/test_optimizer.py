"""Groups of parameters; AdamW with and without bias correction by hand."""

import math

import pytest
import torch
from torch import nn

from harness.pretraining.optimization import configure, make_optimizer, parameter_groups
from harness.pretraining.optimizer import Optimizer
from harness.pretraining.schedule import Schedule


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
    optimizer = make_optimizer(ours, settings)
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
            optimizer = make_optimizer(model, settings)
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
