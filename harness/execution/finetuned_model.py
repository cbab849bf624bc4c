"""A fine-tuned model of the store, for use outside a stage."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.core.compute import Compute
from harness.execution.stages.context import StageContext
from harness.execution.stages.search import tuned_spec
from harness.execution.stages.task_runner import TaskRunner
from harness.finetuning.adapted_weights import load_adapted
from harness.finetuning.baselines.predictor import Predictor
from harness.finetuning.run import prepared_model
from harness.finetuning.task_model import TaskModel
from harness.tasks.task import Task


@dataclass(frozen=True)
class FinetunedModel:
    """A model with the head of its task."""

    task: Task
    model: TaskModel
    predict: Predictor
    """Examples to predictions, as the stage scored them."""


def load_finetuned(
    spec: Mapping[str, Any], inputs: Mapping[str, Path], out: Path, shared: Path
) -> FinetunedModel:
    """The model that a `finetune` stage trained.

    Args:
        spec: arguments of the stage.
        inputs: role to the folder of a parent stage.
        out: folder that the stage wrote.
        shared: folder for caches.

    Raises:
        ValueError: the stage did not save its weights.
    """
    weights = out / "weights"
    if not weights.is_dir():
        raise ValueError(
            "the weights of this run were not saved: set evaluate.save_weights: true and run it"
        )
    spec = tuned_spec(spec, inputs)
    context = StageContext(
        spec, inputs, out, shared, shared, Compute(accelerator="cpu"), lambda *_, **__: None
    )
    runner = TaskRunner(context)
    seed, adaptation = spec["seed"], runner.adaptation
    model = prepared_model(runner.model, runner.head, adaptation, seed, runner.settings)
    load_adapted(model, adaptation, weights)
    return FinetunedModel(runner.task, model, runner.predictor(model))
