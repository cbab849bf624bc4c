"""Networks that embed texts: bi-encoders, which a `train_tasks` stage leaves, and those whose
embeddings are compared as they were pretrained."""

from collections.abc import Mapping
from typing import Any

from harness.exchange.checkpoints.card_data import TaskStep
from harness.experiment.arms import Arm
from harness.finetuning.adaptation import Frozen
from harness.finetuning.protocol import Protocol
from harness.plan.plan import Plan
from harness.store.store import StageResult, Store
from harness.tasks.task import COMPARED, MicroworldData, Task

TRAINED = "train_tasks"
"""Kind of stage that leaves a bi-encoder."""


def is_bi_encoder(kind: str, spec: Mapping[str, Any]) -> bool:
    """Whether a stage trains both texts of a pair apart."""
    return kind == TRAINED and bool(spec["tasks"][0].get("siamese"))


def start_of(plan: Plan, key: str) -> str:
    """Key of the network that a fine-tuning run starts from: a bi-encoder, if it was trained as one
    before, else as pretrained."""
    parents = plan.stages[key].parents
    body = parents.get("body")
    if body and is_bi_encoder(plan.stages[body].kind, plan.stages[body].spec):
        return body
    return parents["pretrain"]


def is_trained_further(plan: Plan, key: str) -> bool:
    """Whether a fine-tuning run starts from training on tasks that left no bi-encoder, which
    belongs to the evaluation."""
    body = plan.stages[key].parents.get("body")
    return body is not None and start_of(plan, key) != body


def protocol_of_arm(arm: Arm) -> Protocol | None:
    """The protocol by which an arm compares embeddings of the last layer; null if it compares
    none."""
    evaluate = arm.evaluate
    compares = any(task.kind in COMPARED for task in evaluate.chosen.values())
    adaptation = evaluate.adaptation
    of_layer = isinstance(adaptation, Frozen) and adaptation.layer not in (None, -1)
    return evaluate.protocol if compares and not of_layer else None


def protocol_of_stage(record: StageResult, spec: Mapping[str, Any]) -> Protocol | None:
    """The protocol by which a bi-encoder was trained; null for other stages."""
    trained = is_bi_encoder(record.kind, spec)
    return Protocol.model_validate(spec["protocol"]) if trained else None


def pretrained(record: StageResult, store: Store) -> tuple[StageResult, tuple[TaskStep, ...]]:
    """The pretrained network behind a bi-encoder, and its training on tasks, in order.

    Raises:
        ValueError: a stage in between is no longer in the store.
    """
    steps: list[TaskStep] = []
    while record.kind == TRAINED:
        spec = store.spec(record)
        steps.insert(0, _step(spec))
        key = spec["parents"].get("body") or spec["parents"]["pretrain"]
        start = store.find(key)
        if start is None:
            raise ValueError(
                f"{record.key} starts from {key}, which is no longer in the store: run the "
                "experiment again"
            )
        record = start
    return record, tuple(steps)


def _step(spec: Mapping[str, Any]) -> TaskStep:
    tasks = [Task.model_validate({"name": t["task"], **t["content"]}) for t in spec["tasks"]]
    objectives = dict.fromkeys(task.get("siamese") or "" for task in spec["tasks"])
    siamese, epochs = " + ".join(objectives), spec["finetune"]["epochs"]
    names = " + ".join(task.name for task in tasks)
    how = f"siamese {siamese}" if siamese else "fine-tuning"
    line = f"{names}; {how}; {epochs} epochs; fine-tuning seed {spec['seed']}"
    return TaskStep(line, all(isinstance(task.data, MicroworldData) for task in tasks))
