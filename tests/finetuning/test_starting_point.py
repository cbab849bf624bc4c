"""Mixout and decay toward the start: against the released formula and a loop of AdamW, and with all
networks."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers.pytorch_utils import Conv1D

from harness.experiment.declaration import from_data
from harness.experiment.source import DeclarationError
from harness.finetuning.adaptation import ADAPTATIONS
from harness.finetuning.protocol import Finetune
from harness.finetuning.run import Finetuned, finetune
from harness.finetuning.settings_compatibility import no_linear_layers, settings_problem
from harness.finetuning.starting_point import DecayToStart, Mixout
from harness.models import FAMILIES
from tests.finetuning.test_module import NETWORKS, make
from tests.finetuning.test_multitask import SETTINGS, folder, task_data
from tests.plan.test_task_chain_stages import BASE, FAST

__all__ = ["folder"]
LOW = SETTINGS.model_copy(update={"learning_rate": 1e-3, "weight_decay": 0.1})


class Layers(nn.Module):
    """A matrix of each kind of linear layer, of 4 inputs and 3 outputs."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.linear, self.conv = nn.Linear(4, 3), Conv1D(3, 4)


class Network(nn.Module):
    """As those of transformers, with a base and no token head."""

    base_model_prefix = "base"

    def __init__(self, base: nn.Module) -> None:
        super().__init__()
        self.base = base


def mixout(network: nn.Module, probability: float) -> Mixout:
    backbone: Any = SimpleNamespace(family="one", network=Network(network))
    return Mixout(backbone, probability)


def released(weight: Tensor, target: Tensor, noise: Tensor, p: float) -> Tensor:
    """The forward pass of bloodwass/mixout, mixout.py, for a matrix [out, in] whose rows share the
    noise."""
    return ((1 - noise) * target + noise * weight - p * target) / (1 - p)


def moved(network: nn.Module) -> None:
    for weight in network.parameters():
        weight.data += torch.randn_like(weight)


@pytest.mark.parametrize("name", ["linear", "conv"])
@pytest.mark.parametrize("p", [0.3, 0.9])
def test_weights_and_gradients_are_those_of_the_released_formula(name: str, p: float) -> None:
    network = Layers()
    mixed, module = mixout(network, p), getattr(network, name)
    turned = (lambda x: x.T) if name == "conv" else (lambda x: x)
    start = turned(module.weight).detach().clone()
    moved(network)
    own, inputs = turned(module.weight).detach().clone(), torch.randn(5, 4)
    torch.manual_seed(7)
    mixed.mix()
    read = turned(module.weight).detach().clone()
    noise = torch.where((read - start).abs().sum(0) < 1e-6, 0.0, 1.0)
    torch.testing.assert_close(read, released(own, start, noise, p))
    module(inputs).square().sum().backward()
    mixed.restore()
    assert torch.equal(turned(module.weight), own)
    reference = own.clone().requires_grad_()
    outputs = F.linear(inputs, released(reference, start, noise, p), module.bias)
    outputs.square().sum().backward()
    torch.testing.assert_close(turned(module.weight.grad), reference.grad)


def test_it_is_dropout_where_the_start_is_zero() -> None:
    network = nn.Linear(2_000, 1)
    nn.init.zeros_(network.weight)
    mixed = mixout(network, 0.7)
    nn.init.ones_(network.weight)
    mixed.mix()
    values, counts = network.weight.unique(return_counts=True)
    torch.testing.assert_close(values, torch.tensor([0, 1 / 0.3]))
    assert counts[0] / 2_000 == pytest.approx(0.7, abs=0.05)


def test_the_mean_over_the_draws_is_the_weight() -> None:
    network = Layers()
    mixed = mixout(network, 0.5)
    moved(network)
    own, total = network.linear.weight.detach().clone(), torch.zeros(3, 4)
    for _ in range(4_000):
        mixed.mix()
        total += network.linear.weight.detach()
        mixed.restore()
    torch.testing.assert_close(total / 4_000, own, atol=0.15, rtol=0)


def test_the_first_update_reads_the_start_and_biases_stay() -> None:
    network = Layers()
    before = {name: value.clone() for name, value in network.state_dict().items()}
    mixed = mixout(network, 0.9)
    mixed.mix()
    assert all(torch.equal(value, before[n]) for n, value in network.state_dict().items())
    assert len(mixed.starts) == 2


@pytest.mark.parametrize(("family", "reading"), NETWORKS)
def test_every_network_is_mixed_or_refused(family: str, reading: str) -> None:
    backbone = make(family, reading)
    if no_linear_layers(backbone.family):
        with pytest.raises(ValueError, match=f"{backbone.family} have none; leave it out"):
            Mixout(backbone, 0.5)
        return
    mixed = Mixout(backbone, 0.5)
    network: Any = backbone.network
    tables = network.get_input_embeddings().weight
    assert not any(weight is tables for weight in mixed.starts)
    moved(backbone)
    own = {name: value.clone() for name, value in backbone.named_parameters()}
    mixed.mix()
    changed = [n for n, value in backbone.named_parameters() if not torch.equal(value, own[n])]
    assert len(changed) >= len(mixed.starts) - 1  # a matrix of few inputs may have kept all
    mixed.restore()
    assert all(torch.equal(value, own[n]) for n, value in backbone.named_parameters())


def test_decay_is_that_of_adamw_around_the_start() -> None:
    """AdamW with decay to 0 on the difference from the start takes the same steps."""
    torch.manual_seed(0)
    network = nn.Linear(4, 3)
    start = {name: value.detach().clone() for name, value in network.named_parameters()}
    other = {name: torch.zeros_like(value, requires_grad=True) for name, value in start.items()}
    ours = torch.optim.AdamW(network.parameters(), lr=0.1, weight_decay=0.5)
    theirs = torch.optim.AdamW(other.values(), lr=0.1, weight_decay=0.5)
    backbone: Any = network
    ours.register_step_post_hook(DecayToStart(backbone).after_step)
    for step in range(5):
        torch.manual_seed(step)
        inputs = torch.randn(6, 4)
        shifted = {name: start[name] + other[name] for name in start}
        for loss, optimizer in (
            (network(inputs).square().mean(), ours),
            (F.linear(inputs, shifted["weight"], shifted["bias"]).square().mean(), theirs),
        ):
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    for name, value in network.named_parameters():
        torch.testing.assert_close(value, start[name] + other[name])


def weights(run: Finetuned) -> dict[str, Tensor]:
    return {name: value.detach() for name, value in run.model.part(0).named_parameters()}


def distance(run: Finetuned, folder: Path) -> float:
    """Of the matrices of the network from where they began."""
    first = weights(trained(folder, learning_rate=1e-12))
    pairs = [(value, first[n]) for n, value in weights(run).items() if "backbone" in n]
    return sum(float((now - then).square().sum()) for now, then in pairs) ** 0.5


def trained(folder: Path, **fields: Any) -> Finetuned:
    settings = LOW.model_copy(update={"epochs": 8, **fields})
    return finetune(folder, [task_data("alone", 24)], settings, seed=3)


@pytest.mark.parametrize("fields", [{"mixout": 0.7}, {"decay_toward": "pretrained"}])
def test_runs_are_decided_by_the_seed_and_learn(folder: Path, fields: dict[str, Any]) -> None:
    found, again = (trained(folder, learning_rate=1e-2, epochs=20, **fields) for _ in range(2))
    pairs = zip(weights(found).values(), weights(again).values(), strict=True)
    assert all(torch.equal(one, other) for one, other in pairs)
    assert found.losses == again.losses and np.isfinite(found.losses[0])
    assert found.losses[0] < 0.5 < np.log(2)
    plain = trained(folder, learning_rate=1e-2, epochs=20)
    assert found.losses != plain.losses


def test_strong_decay_toward_the_start_keeps_a_network_near_it(folder: Path) -> None:
    free = distance(trained(folder, weight_decay=1e-9, learning_rate=1e-2), folder)
    fields = {"weight_decay": 30.0, "learning_rate": 1e-2}
    held = distance(trained(folder, decay_toward="pretrained", **fields), folder)
    to_zero = distance(trained(folder, **fields), folder)
    assert held < min(0.7 * free, 0.7 * to_zero)


@pytest.mark.parametrize("field", [{"mixout": 0.5}, {"decay_toward": "pretrained"}])
def test_they_need_trained_matrices_of_the_network(field: dict[str, Any]) -> None:
    """Weights are mixed, and decay, in matrices alone."""
    settings = Finetune(**field)
    for name, adaptation in ADAPTATIONS.items():
        why = settings_problem(settings, adaptation)
        assert bool(why) != (adaptation.whole and name not in ("layer_norms", "biases")), name


def test_decay_toward_the_start_needs_decay() -> None:
    settings = Finetune(decay_toward="pretrained", weight_decay=0)
    why = settings_problem(settings, ADAPTATIONS["full"])
    assert why.startswith("finetune.weight_decay must be above 0 with decay_toward, but is 0")


@pytest.mark.parametrize("field", [{"mixout": 0.5}, {"decay_toward": "pretrained"}])
def test_new_layers_have_no_pretrained_weights(field: dict[str, Any]) -> None:
    settings = Finetune(reinit_layers=1, **field)
    assert "reinit_layers draws new ones" in settings_problem(settings, ADAPTATIONS["full"])


@pytest.mark.parametrize(
    ("declared", "space"),
    [
        ({"decay_toward": "pretrained"}, {"weight_decay": [0.0, 0.1]}),
        ({"reinit_layers": 1}, {"mixout": [0.5, 0.9]}),
        ({"mixout": 0.5}, {"reinit_layers": [1]}),
    ],
)
def test_searched_settings_that_exclude_each_other_are_refused(
    declared: dict[str, Any], space: dict[str, Any]
) -> None:
    with pytest.raises(DeclarationError, match=r"must be above 0 with|reinit_layers draws new"):
        from_data(
            {
                **BASE,
                "evaluate": {**FAST, "finetune": {**FAST["finetune"], **declared}},
                "sweep": {"trials": 1, "sampler": "random", "space": space},
            }
        )


@pytest.mark.parametrize("value", [0, 1, -0.1])
def test_the_probability_is_between_0_and_1(value: float) -> None:
    with pytest.raises(ValueError, match="mixout"):
        Finetune(mixout=value)


def test_families_without_linear_layers_exist() -> None:
    assert {name for name in FAMILIES if no_linear_layers(name)} >= {"lstm", "static"}
