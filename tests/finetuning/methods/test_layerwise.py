"""Layer-wise learning rates, re-initialised layers and gradual unfreezing."""

import pytest
import torch

from harness.finetuning.adaptation import ADAPTATIONS, Staged
from harness.finetuning.methods.layerwise import (
    begin_epoch,
    learning_rate_factors,
    reinitialise,
)
from harness.finetuning.protocol import Finetune
from harness.finetuning.settings_compatibility import settings_problem
from harness.models.layers import layers
from harness.pretraining.optimization import parameter_groups
from harness.pretraining.optimizer import Optimizer
from tests.finetuning.methods.models import adapted, trained


def test_rates_are_electras() -> None:
    """Two layers by hand: 0.8^4 of the embeddings, 0.8^3, 0.8^2, and 1 of the head."""
    model = adapted("electra", ADAPTATIONS["full"])
    factors = learning_rate_factors(model, 0.8)
    of = {name: factors[id(p)] for name, p in model.named_parameters()}
    body = "backbone.network.electra."
    assert of[f"{body}embeddings.word_embeddings.weight"] == pytest.approx(0.8**4)
    assert of[f"{body}embeddings_project.weight"] == pytest.approx(0.8**4)
    assert of[f"{body}encoder.layer.0.output.dense.weight"] == pytest.approx(0.8**3)
    assert of[f"{body}encoder.layer.1.attention.self.query.bias"] == pytest.approx(0.8**2)
    assert of["head.weight"] == of["head.bias"] == 1.0
    groups = parameter_groups(model, Optimizer(learning_rate=1.0), factors)
    given = {id(p): group["lr"] for group in groups for p in group["params"]}
    assert given == {id(p): factors[id(p)] for p in trained(model).values()}


def test_top_layers_are_reinitialised() -> None:
    model, old = (adapted("gpt2", ADAPTATIONS["full"]) for _ in range(2))
    torch.manual_seed(3)
    reinitialise(model, 1)
    (_, below), (_, top) = layers(model.backbone)
    (_, old_below), (_, old_top) = layers(old.backbone)
    assert all(map(torch.equal, below.parameters(), old_below.parameters()))
    assert not torch.equal(top.mlp.c_fc.weight, old_top.mlp.c_fc.weight)  # type: ignore[union-attr,arg-type]
    assert torch.equal(top.ln_1.weight, torch.ones(32))  # type: ignore[union-attr,arg-type]
    with pytest.raises(ValueError, match="at most 2"):
        reinitialise(model, 3)


def test_one_more_layer_per_epoch() -> None:
    model = adapted("bert", ADAPTATIONS["gradual"])
    sets = []
    for epoch in range(4):
        begin_epoch(model, epoch)
        sets.append(set(trained(model)))
    assert sets[0] == {"head.weight", "head.bias"}
    assert all("layer.1." in name for name in sets[1] - sets[0])
    assert all("layer.0." in name for name in sets[2] - sets[1])
    assert all("embeddings" in name for name in sets[3] - sets[2])
    assert sets[0] < sets[1] < sets[2] < sets[3]


def test_top_layers_then_norms_then_the_rest() -> None:
    model = adapted("bert", ADAPTATIONS["staged"])
    sets = []
    for epoch in range(4):
        begin_epoch(model, epoch)
        sets.append(set(trained(model)))
    assert all("layer.1." in name or name.startswith("head.") for name in sets[0])
    norms = sets[1] - sets[0]
    assert norms and all("LayerNorm" in name and "layer.1." not in name for name in norms)
    assert sets[2] == sets[3] == set(trained(adapted("bert", ADAPTATIONS["full"])))
    assert any("embeddings" in name for name in sets[2] - sets[1])


def test_all_layers_may_be_trained_first() -> None:
    model = adapted("gpt2", Staged(top_layers=2))
    assert set(model.unfreezing.values()) == {0, 1, 2}  # the last norm, and the embeddings
    with pytest.raises(ValueError, match="top_layers must be at most 2"):
        adapted("gpt2", Staged(top_layers=3))


@pytest.mark.parametrize("field", [{"layer_decay": 0.9}, {"reinit_layers": 1}])
def test_settings_of_layers_need_layers_that_train(field: dict[str, float]) -> None:
    settings = Finetune.model_validate(field)
    assert not settings_problem(settings, ADAPTATIONS["full"])
    assert "leave it out" in settings_problem(settings, ADAPTATIONS["lora"])


@pytest.mark.parametrize("name", ADAPTATIONS)
def test_factors_do_not_decay(name: str) -> None:
    """Vectors that start at 1 leave the network unchanged there, not at 0."""
    if not ADAPTATIONS[name].trains:
        return
    model = adapted("bert", ADAPTATIONS[name])
    groups = parameter_groups(model, Optimizer(weight_decay=0.01))
    factors = [p for p in trained(model).values() if p.numel() > 1 and torch.all(p == 1)]
    if name in ("ia3", "boft"):
        assert factors
    decayed = {id(p) for group in groups if group["weight_decay"] for p in group["params"]}
    assert decayed.isdisjoint(map(id, factors))
