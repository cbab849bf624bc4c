"""Adaptations as declared and as content of stages."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from harness.experiment.evaluation import Evaluate
from harness.experiment.source import DeclarationError
from harness.finetuning.adaptation import (
    ADAPTATIONS,
    Adaptation,
    Frozen,
    Selective,
    read_adaptation,
)
from harness.finetuning.compatibility import layers_problem, too_small, unsupported_reason
from harness.finetuning.heads.classifier import Classifier
from harness.finetuning.module_names import unread_targets
from harness.finetuning.projection_updates import Adalora, Boft, Lora, Oft
from harness.finetuning.protocol import Protocol
from harness.finetuning.task_chain import Multitask
from harness.models import MODELS
from harness.plan.factory import load_plan
from harness.pretraining.recipes import RECIPES
from harness.pretraining.recipes.pretrain import Pretrain
from harness.tasks import TASKS
from tests.finetuning.methods.models import NAMES, SIZE, adapted, make_backbone, trained

FULL = ADAPTATIONS["full"]
EVERY = [*ADAPTATIONS.values(), Lora(rank=2, targets=("query", "key")), Frozen(layer=1)]


def declared(fields: Any) -> Adaptation:
    """As YAML gives them."""
    return Evaluate.read({"adaptation": fields}).adaptation


@pytest.mark.parametrize("adaptation", EVERY, ids=lambda one: one.label)
def test_fields_and_content_are_read_back(adaptation: Adaptation) -> None:
    fields = json.loads(json.dumps(adaptation.model_dump()))
    assert declared(fields) == adaptation
    assert read_adaptation(json.loads(json.dumps(adaptation.content))) == adaptation


def test_targets_are_what_lora_trains() -> None:
    model = adapted("bert", declared({"kind": "lora", "targets": ["key"]}))
    inside = [name for name in trained(model) if name.startswith("backbone.")]
    assert len(inside) == 4 and all(".self.key.lora_" in name for name in inside)


@pytest.mark.parametrize("kind", ["lora", "adalora", "vera", "oft"])
def test_targets_of_a_token_head_are_trained_if_it_is_read(kind: str) -> None:
    """`dense` is also in BERT's token head, which an output layer leaves alone."""
    targets = ADAPTATIONS[kind].model_copy(update={"targets": ("dense",)})
    given = targets.model_copy(update={"block_size": 8}) if kind == "oft" else targets
    for auxiliary in (False, True):
        model = adapted("bert", given, predicts_tokens=auxiliary)
        of_head = [name for name in trained(model) if ".predictions.transform.dense." in name]
        assert bool(of_head) is auxiliary
        assert any(".attention.output.dense." in name for name in trained(model))


def test_targets_of_a_token_head_alone_are_refused() -> None:
    run, task, lora = run_of("bert"), TASKS["sst2"], Lora(targets=("cls.predictions.decoder",))
    why = "its targets, cls.predictions.decoder, are of the token head, which the task does not"
    assert why in unsupported_reason(task, Protocol(), lora, run)
    with pytest.raises(ValueError, match="that the task reads, but cls"):
        adapted("bert", lora)
    writes, as_text = run_of("gpt2"), Protocol(answer="text", max_sequence_length=32)
    head = Lora(targets=("lm_head",))
    assert unsupported_reason(task, as_text, head, writes) != unread_targets(head)
    assert unread_targets(head) and not unread_targets(Lora(targets=("lm_head", "c_attn")))


@pytest.mark.parametrize("targets", [[], "query", [3]])
def test_targets_are_a_list_of_names(targets: Any) -> None:
    with pytest.raises(ValidationError):
        declared({"kind": "lora", "targets": targets})


def run_of(name: str) -> Pretrain:
    """A pretraining of one of the small models."""
    backbone = make_backbone(name)
    objective = next(
        recipe.objective
        for recipe in RECIPES.values()
        if recipe.objective.components[0][1].representation == backbone.representation
    )
    fields = {"model": MODELS[name], "size": SIZE, "objective": objective}
    return RECIPES["bert"].model_copy(update=fields)


def frozen(name: str, layer: int | None = None) -> Classifier:
    return Classifier(copy.deepcopy(make_backbone(name)), 2, Protocol(), Frozen(layer=layer))


@pytest.mark.parametrize("name", NAMES)
def test_the_plan_knows_the_layers(name: str) -> None:
    """Layers that pass the check exist in the network; the next one does not."""
    run, states = run_of(name), frozen(name)
    assert states.mix is not None
    count = len(states.mix.weights)
    for layer, fits in ((count - 1, True), (count, False), (-count, True), (-count - 1, False)):
        why = layers_problem(Evaluate().finetune, Frozen(layer=layer), run)
        assert (why == "") == fits
        if fits:
            frozen(name, layer)


def test_too_many_layers_are_refused() -> None:
    run = run_of("gpt2")
    settings = Evaluate().finetune.model_copy(update={"reinit_layers": 3})
    assert "at most 2, the layers of the network, but is 3" in layers_problem(settings, FULL, run)
    many = Selective(top_layers=3)
    assert "fewer than the 3" in unsupported_reason(TASKS["sst2"], Protocol(), many, run)


def test_blocks_that_do_not_divide_the_width_are_refused(tmp_path: Path) -> None:
    run, task = run_of("bert"), TASKS["sst2"]
    why = "its width of 32 is no multiple of the block_size 12"
    assert unsupported_reason(task, Protocol(), Oft(block_size=12), run) == why
    assert unsupported_reason(task, Protocol(), Oft(block_size=16), run) == ""
    (tmp_path / "config.json").write_text('{"model_type": "distilbert", "dim": 768}')
    saved = MODELS["checkpoint"].model_copy(update={"checkpoint": str(tmp_path)})
    run = run.model_copy(update={"model": saved})
    assert too_small(Protocol(), Oft(block_size=100), run) == why.replace("32", "768").replace(
        "12", "100"
    )
    assert too_small(Protocol(), Oft(block_size=48), run) == ""


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"block_size": 8, "butterfly_factors": 3}, ""),
        ({"block_size": 8, "butterfly_factors": 4}, "its width of 32 is no multiple of 64"),
        ({"block_size": 16, "dropout": 0.4}, "2 blocks, of which a dropout of 0.4 omits none"),
        ({"block_size": 16, "dropout": 0.5}, ""),
    ],
)
def test_butterflies_that_do_not_fit_the_width_are_refused(
    fields: dict[str, Any], why: str
) -> None:
    found = unsupported_reason(TASKS["sst2"], Protocol(), Boft(**fields), run_of("bert"))
    assert why in found and bool(found) == bool(why)


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"kind": "boft", "block_size": 3}, "block_size must be even .* but is 3"),
        ({"kind": "adalora", "rank": 8, "initial_rank": 8}, "above the rank 8 .* but is 8"),
        (
            {"kind": "adalora", "initial_fraction": 0.6, "final_fraction": 0.4},
            "must be below 1, so that ranks are reduced between them, but are 0.6 \\+ 0.4",
        ),
    ],
)
def test_fields_that_do_not_go_together_are_refused(fields: dict[str, Any], why: str) -> None:
    with pytest.raises(ValidationError, match=why):
        declared(fields)
    kind = fields.pop("kind")
    searched = ADAPTATIONS[kind].model_copy(update=fields)
    assert too_small(Protocol(), searched, run_of("bert")) == searched.problem != ""


def test_ranks_begin_half_above_their_mean() -> None:
    assert [Adalora(rank=rank).first_rank for rank in (1, 2, 5, 8)] == [2, 3, 8, 12]
    assert Adalora(rank=2, initial_rank=6).first_rank == 6


def test_projections_of_gpt_are_not_rotated() -> None:
    for name, kind in (("gpt", "oft"), ("gpt2", "oft"), ("gpt2", "boft")):
        why = unsupported_reason(TASKS["sst2"], Protocol(), ADAPTATIONS[kind], run_of(name))
        assert why.endswith(f"are Conv1D modules, which {kind} does not rotate")


@pytest.mark.parametrize("value", ["rank", True, 2])
def test_scaling_is_sqrt_or_absent(value: Any) -> None:
    """Absent, it is no part of the content of a stage, so that keys of earlier runs hold."""
    assert "scaling" not in Lora().content and "scaling" in ADAPTATIONS["rslora"].content
    with pytest.raises(ValidationError):
        declared({"kind": "lora", "scaling": value})


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"mixing": "equal", "temperature": 4.0}, "temperature is for mixing: temperature"),
        ({"mixing": "equal", "max_examples": 9}, "max_examples has no effect"),
    ],
)
def test_fields_without_effect_are_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        Multitask.model_validate(fields)


def test_a_missing_checkpoint_is_reported_with_its_line(tmp_path: Path) -> None:
    """Also with continued pretraining, which reads its files before the check of all data."""
    path = tmp_path / "study.yaml"
    path.write_text(
        f"name: study\nquestion: Which?\npretrain:\n  recipe: checkpoint\n"
        f"  model: {{checkpoint: {tmp_path}/none}}\n"
        "evaluate: {continued_pretraining: [{corpus: task, objective: mlm, budget: {steps: 5}}]}\n"
    )
    with pytest.raises(DeclarationError, match=f"{path}:5: .* there is no folder {tmp_path}/none"):
        load_plan(path)
