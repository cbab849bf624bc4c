"""Fine-tuning of the encoder of an encoder-decoder (`evaluate.protocol.use`)."""

import copy
from typing import Any

import pytest
import torch

from harness.experiment.declaration import from_data
from harness.experiment.source import DeclarationError
from harness.finetuning.adaptation import ADAPTATIONS, Frozen
from harness.finetuning.heads.classifier import Classifier
from harness.finetuning.methods import adapt
from harness.finetuning.protocol import Protocol
from harness.models.encoder_part import EncoderPart
from harness.models.flops import Lengths, forward_flops
from harness.plan.costs import MEAN_TASK_TOKENS, finetuning_flops
from harness.plan.factory import make_plan
from harness.plan.plan import Plan
from tests.finetuning.methods.models import batch, learn, make_backbone, trained
from tests.stage_runner import StageRunner

USE = "evaluate.protocol.use"
BASE: dict[str, Any] = {
    "name": "x",
    "question": "which?",
    "pretrain": {
        "recipe": "bart",
        "size": {"num_layers": 1, "hidden_size": 16, "num_heads": 2, "intermediate_size": 32},
        "corpus": {"source": "microworld", "num_tokens": 20_000},
        "tokenizer": {"vocab_size": 400},
        "phases": [{"fraction": 1, "sequence_length": 64}],
        "batch_size": 8,
        "budget": {"tokens": 0},
    },
}
EVALUATE: dict[str, Any] = {
    "tasks": ["micro-sst2"],
    "protocol": {"max_train_examples": 16, "max_sequence_length": 48},
    "finetune": {"epochs": 1, "learning_rate": 1e-2, "batch_size": 8},
}


def planned(**fields: Any) -> Plan:
    return make_plan(from_data({**BASE, "evaluate": EVALUATE} | fields))


@pytest.mark.parametrize("name", ["bart", "t5"])
@pytest.mark.parametrize("adaptation", [a for a in ADAPTATIONS if ADAPTATIONS[a].trains])
def test_every_adaptation_trains_the_encoder(name: str, adaptation: str) -> None:
    torch.manual_seed(0)
    part = EncoderPart(copy.deepcopy(make_backbone(name)))
    chosen = ADAPTATIONS[adaptation]
    model = Classifier(part, 2, Protocol(head_dropout=0.0), chosen)
    assert (model.reading, model.pooling) == ("bidirectional", "cls")
    if name == "t5" and adaptation == "biases":
        with pytest.raises(ValueError, match="a t5 has no biases"):
            adapt(model, chosen)
        return
    adapt(model, chosen)
    assert not any("decoder" in parameter for parameter in trained(model))
    rate = {"prompt_tuning": 0.1, "prefix": 0.05}.get(adaptation, 1e-2)
    first, last = learn(model.train(), batch(), rate, steps=12)
    assert last < first


def test_the_plan_counts_the_encoder_alone() -> None:
    plan = planned(grid={USE: [None, "encoder"]})
    both, part = plan.arms
    task, settings = part.evaluate.chosen["micro-sst2"], part.evaluate.finetune
    run = part.pretrain
    once = forward_flops(
        run.model, run.size, 400, Lengths(MEAN_TASK_TOKENS), representation="bidirectional"
    )
    assert finetuning_flops(part, task, settings) == 3 * 16 * once
    assert finetuning_flops(both, task, settings) > 2 * finetuning_flops(part, task, settings)
    assert plan.differences == {USE: {"use=null": None, "encoder": "encoder"}}
    plain = planned()
    assert {one.key for one in plan.finetune_runs} > {one.key for one in plain.finetune_runs}


@pytest.mark.parametrize("sequential", [False, True])
def test_stages_train_the_encoder(sequential: bool, tmp_path: Any) -> None:
    """The second of two tasks starts from the encoder that the first has trained."""
    tasks = ["micro-rte", "micro-sst2"] if sequential else ["micro-sst2"]
    protocol = {**EVALUATE["protocol"], "use": "encoder"}
    more = {"tasks": tasks, "protocol": protocol, "sequential": sequential}
    plan, runner = planned(evaluate=EVALUATE | more), StageRunner(tmp_path)
    runner.run(plan)
    run = plan.finetune_runs[-1]
    metrics = runner.make(plan, run.key)
    assert 0 <= metrics["validation/accuracy"] <= 1
    if not sequential:
        model = EncoderPart(copy.deepcopy(make_backbone("bart")))
        assert metrics["trained_parameters"] < sum(p.numel() for p in model.parameters())


def test_generation_is_not_supported() -> None:
    suite = {"name": "mine", "tasks": ["micro-sum", "micro-sst2"]}
    protocol = {**EVALUATE["protocol"], "use": "encoder", "max_target_length": 16}
    plan = planned(evaluate=EVALUATE | {"suite": suite, "tasks": None, "protocol": protocol})
    assert "writes no text" in plan.unsupported["x", "micro-sum"]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"pretrain.recipe": "roberta"}, "only an encoder-decoder has an encoder to use alone"),
        ({"pretrain.recipe": "majority"}, "only an encoder-decoder has an encoder to use alone"),
        ({"evaluate.protocol.answer": "text"}, "generates no text and predicts no tokens"),
        ({"evaluate.adaptation": "prompt"}, "generates no text and predicts no tokens"),
        (
            {"evaluate.adaptation": Frozen(layer=2).model_dump()},
            "adaptation.layer must be -2 to 1 for a network",
        ),
    ],
)
def test_what_has_no_encoder_alone_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(DeclarationError, match=message):
        planned(grid={"arm": {"one": {USE: "encoder", **fields}, "other": {}}})
