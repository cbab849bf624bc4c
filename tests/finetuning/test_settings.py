"""Each setting of fine-tuning has its effect; trials and reported runs have different seeds."""

from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import torch

from harness.execution.stages import search
from harness.execution.stages.context import StageContext
from harness.experiment.experiment import MAX_SEEDS
from harness.finetuning.adaptation import ADAPTATIONS, Adaptation
from harness.finetuning.heads.classifier import Classifier
from harness.finetuning.heads.head import TaskHead
from harness.finetuning.module import FinetuningModule
from harness.finetuning.multitask import Loss
from harness.finetuning.protocol import Finetune, Protocol
from harness.finetuning.run import prepared_model
from harness.finetuning.search.trials import WORST
from harness.models.backbone import Backbone
from harness.models.layers import layers
from harness.pretraining.optimizer_kinds import SATURATED_STEP
from tests.finetuning.methods.models import adapted, make_backbone

FULL = ADAPTATIONS["full"]
STEPS = 10


@dataclass(frozen=True)
class Context:
    """The part of a context that a trial reads."""

    spec: dict[str, Any]


class TwoClasses:
    """The part of a head that makes a model."""

    protocol = Protocol()

    def make_model(self, backbone: Backbone, adaptation: Adaptation) -> Classifier:
        return Classifier(backbone, 2, self.protocol, adaptation)


def optimisation(**settings: Any) -> tuple[Classifier, torch.optim.Optimizer, Any]:
    """Model, optimiser and scheduler of a run of STEPS updates."""
    model = adapted("gpt2", FULL)
    finetune = Finetune.model_validate({"learning_rate": 1.0, "warmup_fraction": 0.2, **settings})
    module = FinetuningModule(model, cast(Loss, None), finetune, STEPS, seed=0)
    found = module.configure_optimizers()
    return model, found["optimizer"], found["lr_scheduler"]["scheduler"]


@pytest.mark.parametrize(
    ("schedule", "middle", "last"),
    [(None, 0.5, 1 / 8), ("linear", 0.5, 1 / 8), ("cosine", 0.5, 0.038), ("constant", 1, 1)],
)
def test_the_schedule_is_followed(schedule: str | None, middle: float, last: float) -> None:
    """With 20% warmup the middle of the decay is at update 6."""
    _, _, scheduler = optimisation(schedule=schedule)
    rates = [scheduler.lr_lambdas[0](step) for step in range(STEPS)]
    assert rates[:3] == [0, 0.5, 1]
    assert (rates[6], rates[9]) == (pytest.approx(middle), pytest.approx(last, abs=1e-3))


def test_rates_fall_from_layer_to_layer_of_a_decoder() -> None:
    model, optimizer, _ = optimisation(layer_decay=0.5)
    rates = {id(p): g["initial_lr"] for g in optimizer.param_groups for p in g["params"]}
    (_, below), (_, top) = layers(model.backbone)
    network: Any = model.backbone.network
    assert {rates[id(p)] for p in model.head.parameters()} == {1.0}
    assert {rates[id(p)] for p in network.transformer.ln_f.parameters()} == {0.5}
    assert {rates[id(p)] for p in top.parameters()} == {0.25}
    assert {rates[id(p)] for p in below.parameters()} == {0.125}
    assert rates[id(network.transformer.wpe.weight)] == 0.0625
    _, plain, _ = optimisation()
    assert {group["initial_lr"] for group in plain.param_groups} == {1.0}


@pytest.mark.parametrize(("given", "steps"), [(None, None), (True, None), (False, SATURATED_STEP)])
def test_bias_correction_is_as_set(given: bool | None, steps: float | None) -> None:
    _, optimizer, _ = optimisation(bias_correction=given)
    begun = {float(state["step"]) for state in optimizer.state.values()}
    assert begun == ({steps} if steps else set())


def test_decay_and_moments_are_as_set() -> None:
    _, optimizer, _ = optimisation(weight_decay=0.3, beta2=0.5)
    assert {group["weight_decay"] for group in optimizer.param_groups} == {0.0, 0.3}
    assert {group["betas"] for group in optimizer.param_groups} == {(0.9, 0.5)}


def test_reinitialised_layers_depend_on_the_seed(tmp_path: Path) -> None:
    make_backbone("gpt2").save(tmp_path)

    def tops(seed: int, **settings: Any) -> list[torch.Tensor]:
        finetune, head = Finetune.model_validate(settings), cast(TaskHead, TwoClasses())
        model = prepared_model(tmp_path, head, FULL, seed, finetune)
        network: Any = model.backbone.network
        return [layer.mlp.c_fc.weight.detach() for layer in network.transformer.h]

    below, top = tops(0)
    new_below, new_top = tops(0, reinit_layers=1)
    assert torch.equal(below, new_below) and not torch.equal(top, new_top)
    assert torch.equal(tops(0, reinit_layers=1)[1], new_top)
    assert not torch.equal(tops(1, reinit_layers=1)[1], new_top)


def test_trials_and_reported_runs_have_different_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[int] = []

    class TaskRunner:
        settings = Finetune()

        def __init__(self, context: Any) -> None: ...

        def run(self, seed: int, *rest: Any) -> Any:
            drawn.append(seed)
            return SimpleNamespace(holdout_score=None, diverged=False)

    monkeypatch.setattr(search, "TaskRunner", TaskRunner)
    spec = {"finetune": Finetune().model_dump(), "adaptation": "full"}
    for number in range(3):
        found = search._run_trial(cast(StageContext, Context(spec)), {}, number)
        assert (found.state, found.value) == ("undefined", WORST)
    assert len(set(drawn)) == 3 and min(drawn) >= MAX_SEEDS
