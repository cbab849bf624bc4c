"""The ranks of AdaLoRA: as peft's, by the schedule of the paper, and in a whole run."""

import copy
from pathlib import Path
from typing import Any

import pytest
import torch
from peft import AdaLoraConfig, AdaLoraModel
from transformers import PreTrainedTokenizerFast

from harness.finetuning.heads.classifier import Classifier
from harness.finetuning.methods.rank_budget import RankBudget
from harness.finetuning.multitask import MultitaskModel, TaskData
from harness.finetuning.projection_updates import Adalora
from harness.finetuning.protocol import Finetune, Protocol
from harness.finetuning.run import finetune
from tests.finetuning.methods.models import adapted, batch, loss_of, trained
from tests.finetuning.test_module import (
    inputs,
    make_head,
    saved,
    tokenizer,  # noqa: F401  # a fixture
)

PROJECTIONS = 4
"""Queries and values of two layers."""


def values(model: torch.nn.Module) -> list[torch.Tensor]:
    """The singular values of each projection."""
    return [value.detach()[:, 0] for name, value in trained(model).items() if "lora_E" in name]


def rank(model: torch.nn.Module) -> int:
    """Sum of the ranks of all projections."""
    return int(torch.cat(values(model)).count_nonzero())


def optimiser(model: torch.nn.Module) -> torch.optim.Optimizer:
    return torch.optim.AdamW(trained(model).values(), lr=1e-2)


def update(model: Classifier, steps: torch.optim.Optimizer, penalty: Any = 0.0) -> None:
    steps.zero_grad()
    (loss_of(model, batch()) + penalty).backward()
    steps.step()


@pytest.mark.parametrize("fields", [{}, {"interval": 3}, {"initial_fraction": 0, "beta1": 0.5}])
def test_ranks_are_pefts(fields: dict[str, Any]) -> None:
    """`AdaLoraModel.update_and_allocate` on a copy of the network."""
    adaptation, total = Adalora(rank=2, initial_rank=5, **fields), 20
    ours = adapted("bert", adaptation)
    theirs = copy.deepcopy(ours)
    theirs.load_state_dict(ours.state_dict())
    budget = RankBudget(ours.backbone.network, adaptation, total)
    config: Any = copy.deepcopy(budget.allocator.peft_config)
    tuner: Any = object.__new__(AdaLoraModel)
    torch.nn.Module.__init__(tuner)
    tuner.model, tuner.peft_config = theirs.backbone.network, {"default": config}
    tuner.trainable_adapter_name = "default"
    tuner.rankallocator = type(budget.allocator)(tuner.model, config, "default")
    assert isinstance(config, AdaLoraConfig) and config.total_step == total
    one, other = optimiser(ours), optimiser(theirs)
    for step in range(1, total + 1):
        update(ours, one)
        budget.reduce()
        update(theirs, other)
        tuner.update_and_allocate(step)
        assert all(map(torch.equal, values(ours), values(theirs))), step


def test_the_sum_of_ranks_follows_the_cubic_schedule() -> None:
    """Zhang et al. 2023, appendix A, with 20 updates: constant for 3, fixed for the last 10."""
    model = adapted("bert", adaptation := Adalora(rank=2, initial_rank=5))
    budget, steps = RankBudget(model.backbone.network, adaptation, 20), optimiser(model)
    first, last, found = 5 * PROJECTIONS, 2 * PROJECTIONS, []
    for _ in range(20):
        update(model, steps)
        budget.reduce()
        found.append(rank(model))
    falling = [int((first - last) * (1 - (t - 3) / 7) ** 3 + last) for t in range(4, 11)]
    assert found == [first] * 3 + falling + [last] * 10


def test_the_most_sensitive_singular_values_are_left() -> None:
    """Equations 7 to 11 after one update, with the gradients of that update."""
    model = adapted("bert", adaptation := Adalora(rank=1, initial_rank=3, beta1=0.8, beta2=0.7))
    with torch.no_grad():
        for value in trained(model).values():
            value += 0.1
    budget, steps = RankBudget(model.backbone.network, adaptation, 2), optimiser(model)
    update(model, steps)

    def scores(value: torch.Tensor) -> torch.Tensor:
        assert value.grad is not None
        sensitivity = (value * value.grad).abs().detach()
        smooth = 0.2 * sensitivity
        return smooth * 0.3 * (sensitivity - smooth).abs()

    named, importance = trained(model), []
    for name, value in named.items():
        if "lora_E" in name:
            left, right = (named[name.replace("lora_E", part)] for part in ("lora_B", "lora_A"))
            importance.append(scores(value)[:, 0] + scores(left).mean(0) + scores(right).mean(1))
    best = torch.cat(importance).argsort(descending=True)[:PROJECTIONS]
    budget.reduce()
    assert set(torch.cat(values(model)).nonzero()[:, 0].tolist()) == set(best.tolist())


def test_the_penalty_is_the_mean_norm() -> None:
    """Of P^T P - I and Q Q^T - I; zero for orthogonal vectors, and its gradient leads there."""
    model = adapted("bert", adaptation := Adalora(rank=2, orthogonal_weight=0.3))
    budget = RankBudget(model.backbone.network, adaptation, 20)
    norms = []
    for name, value in trained(model).items():
        if "lora_A" in name or "lora_B" in name:
            rows = (value if "lora_A" in name else value.T).detach()
            norms.append(float(((rows @ rows.T - torch.eye(3)) ** 2).sum().sqrt()))
    assert len(norms) == 2 * PROJECTIONS
    assert float(budget.penalty().detach()) == pytest.approx(0.3 * sum(norms) / len(norms))
    with torch.no_grad():
        for name, value in trained(model).items():
            if "lora_A" in name or "lora_B" in name:
                torch.nn.init.orthogonal_(value)
    assert float(budget.penalty().detach()) == pytest.approx(0, abs=1e-5)


@pytest.mark.parametrize("total", [1, 2, 3])
def test_few_updates_are_enough(total: int) -> None:
    model = adapted("bert", adaptation := Adalora(rank=2, final_fraction=0.8))
    budget, steps = RankBudget(model.backbone.network, adaptation, total), optimiser(model)
    for _ in range(total):
        update(model, steps, budget.penalty())
        budget.reduce()
    assert rank(model) <= 2 * PROJECTIONS


def test_projections_that_the_task_does_not_read_have_no_importance() -> None:
    targets = ("query", "generator_lm_head")
    model = adapted("electra", adaptation := Adalora(rank=1, targets=targets))
    budget, steps = RankBudget(model.backbone.network, adaptation, 4), optimiser(model)
    for _ in range(4):
        update(model, steps, budget.penalty())
        budget.reduce()
    assert 0 < rank(model) <= len(values(model))


def test_a_run_ends_with_the_mean_rank_and_repeats(
    tokenizer: PreTrainedTokenizerFast,  # noqa: F811
    tmp_path: Path,
) -> None:
    """Ranks are reduced before the scores of an epoch, by the gradients of all updates."""
    saved(tmp_path, "bert", "bidirectional")
    protocol = Protocol(pooling="mean", head_dropout=0.0)
    head, data = make_head("classification", tokenizer, protocol), inputs(False)
    settings = Finetune(learning_rate=2e-2, batch_size=16, epochs=12)
    adaptation = Adalora(rank=2, initial_rank=4, initial_fraction=0.25)

    def run() -> tuple[list[int], MultitaskModel, list[float]]:
        ranks: list[int] = []

        def after_epoch(model: MultitaskModel, epoch: int) -> dict[str, float]:
            ranks.append(rank(model))
            return {}

        task = TaskData(head, data)
        done = finetune(
            tmp_path, [task], settings, seed=0, adaptation=adaptation, on_epoch=after_epoch
        )
        return ranks, done.model, list(done.losses)

    ranks, model, losses = run()
    assert ranks[:3] == [16] * 3 and 8 < ranks[3] < 16 and ranks[5:] == [8] * 7
    again, same, equal = run()
    assert (again, equal) == (ranks, losses) and losses[0] < 0.1
    assert all(map(torch.equal, values(model), values(same)))
