"""SGD, and learning rates that fall between epochs: against loops of torch."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor
from transformers import PreTrainedTokenizerFast

from harness.execution.stages.task_runner import TaskRunner
from harness.experiment.declaration import from_data
from harness.experiment.source import DeclarationError
from harness.finetuning.adaptation import ADAPTATIONS
from harness.finetuning.costs import measure
from harness.finetuning.epoch_rates import EpochRates
from harness.finetuning.inputs import TrainBatches
from harness.finetuning.module import MAX_GRAD_NORM, FinetuningModule
from harness.finetuning.multitask import Loss, MultitaskModel, TaskData
from harness.finetuning.protocol import Finetune, Protocol
from harness.finetuning.run import Finetuned, finetune, prepared_model
from harness.pretraining.trainer import seed_torch
from tests.finetuning.methods.models import adapted, batch
from tests.finetuning.test_costs import loss
from tests.finetuning.test_module import inputs, make, make_head, tokenizer
from tests.finetuning.test_multitask import folder, task_data
from tests.plan.test_task_chain_stages import BASE, FAST, of_kind, planned
from tests.stage_runner import StageRunner

__all__ = ["folder", "tokenizer"]
FULL = ADAPTATIONS["full"]
CONSTANT: dict[str, Any] = {"schedule": "constant", "warmup_fraction": 0.0}
SGD = Finetune(
    optimizer="sgd", learning_rate=0.1, weight_decay=0, epochs=3, batch_size=4
).model_copy(update=CONSTANT)
SCORES = (0.5, 0.7, 0.7, 0.6, 0.8)
"""After each epoch: the third and fourth are not above the best one before."""


def weights(model: MultitaskModel) -> dict[str, Tensor]:
    return {name: p.detach().clone() for name, p in model.part(0).named_parameters()}


def run(folder: Path, **changes: Any) -> Finetuned:
    scores = iter(changes.pop("scores", ()))
    settings = SGD.model_copy(update=changes)
    given = (lambda model, epoch: {"accuracy": next(scores)}) if changes.get("epochs") else None
    return finetune(folder, [task_data("one", 24)], settings, seed=3, on_epoch=given)


def rates_of(settings: Finetune) -> Iterator[float]:
    """Of each epoch of SCORES, by the rules of facebookresearch/InferSent, train_nli.py."""
    rate, best = settings.learning_rate, -1e10
    for number, score in enumerate(SCORES):
        if number:
            rate *= settings.epoch_decay or 1
        yield rate
        if score > best:
            best = score
        else:
            rate *= settings.holdout_decay or 1


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"weight_decay": 0.1},
        {"epoch_decay": 0.9},
        {"epoch_decay": 0.9, "holdout_decay": 0.2},
    ],
)
def test_updates_are_those_of_a_loop(folder: Path, changes: dict[str, Any]) -> None:
    settings = SGD.model_copy(update={"epochs": len(SCORES), **changes})
    data = task_data("one", 24)
    model = prepared_model(folder, data.head, FULL, 3, settings).train()
    batches = TrainBatches(data.train, settings, data.head.collate, 3)
    decayed = {n: settings.weight_decay * (p.ndim > 1) for n, p in model.named_parameters()}
    step = 0
    for epoch, rate in enumerate(rates_of(settings)):
        for items in batches.order(epoch):
            seed_torch(torch.device("cpu"), 3, step)
            one = data.head.collate(data.train, items)
            data.head.loss(model(one), one).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), MAX_GRAD_NORM)
            with torch.no_grad():
                for name, p in model.named_parameters():
                    if p.grad is not None:
                        p.sub_(rate * (p.grad + decayed[name] * p))
            model.zero_grad()
            step += 1
    found = weights(run(folder, epochs=len(SCORES), scores=SCORES, **changes).model)
    for name, p in model.named_parameters():
        torch.testing.assert_close(found[name], p.detach(), atol=1e-5, rtol=1e-4)


def test_both_decays_change_the_run(folder: Path) -> None:
    fields: Any = ({}, {"epoch_decay": 0.5}, {"holdout_decay": 0.2}, {"optimizer": "adamw"})
    losses = {run(folder, epochs=5, scores=SCORES, **one).losses[0] for one in fields}
    assert len(losses) == len(fields)


def test_a_first_score_is_no_fall_and_a_missing_one_is() -> None:
    rates = EpochRates(SGD.model_copy(update={"holdout_decay": 0.2}), per_epoch=2)
    rates.after_epoch(-0.5)
    assert rates.factor(2) == 1
    rates.after_epoch(float("-inf"))
    assert rates.factor(4) == pytest.approx(0.2)


def test_a_bilstm_on_fixed_vectors_learns(
    tmp_path: Path,
    tokenizer: PreTrainedTokenizerFast,
) -> None:
    """As InferSent is trained; loss of chance is 0.69."""
    make("bilstm", "bidirectional").save(tmp_path)
    pooled = Protocol(pooling="max", head_dropout=0.0)
    data = TaskData(make_head("classification", tokenizer, pooled), inputs(False))
    infersent = {"epochs": 20, "learning_rate": 0.3, "epoch_decay": 0.99, "embeddings": "fixed"}
    found = finetune(tmp_path, [data], SGD.model_copy(update=infersent), seed=0)
    assert found.losses[0] < 0.4


def test_moments_are_those_of_the_optimizer() -> None:
    model, one = adapted("bert", FULL), batch()
    sgd, adamw = (measure(model, loss, one, 0, None, name) for name in ("sgd", "adamw"))
    moments = 2 * 4 * sgd.trained_parameters
    assert adamw.peak_memory_bytes - sgd.peak_memory_bytes == moments


def test_the_default_is_adamw() -> None:
    for name, kind in ((None, torch.optim.AdamW), ("sgd", torch.optim.SGD)):
        settings = Finetune(optimizer=cast(Any, name))
        module = FinetuningModule(adapted("bert", FULL), cast(Loss, None), settings, 4, seed=0)
        assert type(module.configure_optimizers()["optimizer"]) is kind


@pytest.mark.parametrize("field", [{"beta2": 0.9}, {"bias_correction": False}])
def test_settings_of_adamw_are_refused(field: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="is of adamw, but optimizer is sgd; leave it out"):
        Finetune(optimizer="sgd", **field)
    Finetune(optimizer="adamw", **field)


DECAY = {"finetune": {**FAST["finetune"], "holdout_decay": 0.2}}
CHAIN = {"suite": "micro-sts-v1", "tasks": None}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"multitask": {}}, "'x' trains several together; leave it out"),
        (
            {**CHAIN, "intermediate_tasks": [{"task": "micro-mnli", "siamese": "triplet"}]},
            "but it is trained by triplet; leave it out",
        ),
        (
            {**CHAIN, "intermediate_tasks": [{"task": ["micro-mnli", "micro-cb"]}]},
            "but it is trained on 2 tasks; leave it out",
        ),
        (
            {
                **CHAIN,
                "intermediate_tasks": [
                    {"task": ["micro-mnli", "micro-rte"], "siamese": ["softmax", "softmax"]}
                ],
            },
            "but it is trained on 2 tasks; leave it out",
        ),
    ],
)
def test_scores_on_a_holdout_are_those_of_one_task(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(DeclarationError, match=message):
        from_data({**BASE, "evaluate": {**FAST, **DECAY, **fields}})


@pytest.mark.parametrize("field", ["intermediate_tasks", "finetune"])
def test_stages_score_after_each_epoch(
    field: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the task itself, and of one before it; rates fall to nothing after the second epoch."""
    scored: list[int] = []

    def epoch_scores(runner: TaskRunner, model: Any, epoch: int) -> dict[str, float]:
        assert 0 <= TaskRunner.holdout_score(runner, runner.predictor(model.part(0))) <= 1  # type: ignore[operator]
        scored.append(epoch)
        return {"accuracy": 0.5}

    monkeypatch.setattr(TaskRunner, "epoch_scores", epoch_scores)
    runner, found = StageRunner(tmp_path), {}
    for epochs, decay in ((2, None), (5, 1e-9), (5, None)):
        settings = {**FAST["finetune"], **CONSTANT, "epochs": epochs, "holdout_decay": decay}
        given: Any = {"finetune": settings}
        if field == "intermediate_tasks":
            given = {field: [{"task": "micro-mnli", "siamese": "infersent", **given}]}
        plan = planned(tasks=["micro-rte"], save_weights=True, **given)
        runner.run(plan)
        kind = "train_tasks" if field == "intermediate_tasks" else "finetune"
        folder = runner.out(of_kind(plan, kind)[0].key)
        (file,) = [*folder.glob("model/model.safetensors"), *folder.glob("weights/*.safetensors")]
        found[epochs, decay] = load_file(file)
    assert scored == [1, 2, 3, 4, 5]
    two, fallen, five = found.values()
    assert all(torch.allclose(two[name], fallen[name], atol=1e-6) for name in two)
    assert not all(torch.allclose(two[name], five[name], atol=1e-3) for name in two)
