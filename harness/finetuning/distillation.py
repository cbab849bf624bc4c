"""Distillation in fine-tuning, as an experiment declares it."""

from collections.abc import Collection

from pydantic import Field

from harness.core.config import ConfigModel
from harness.finetuning.adaptation import Adaptation
from harness.finetuning.compatibility import answered_as_text
from harness.finetuning.protocol import Protocol
from harness.tasks.task import Task

KINDS = ("classification", "regression")
"""Kinds of tasks with a teacher: those with a vector of outputs per example."""


class SoftTargetLoss(ConfigModel):
    """How the outputs of a teacher are learned."""

    temperature: float = Field(default=1.0, gt=0)
    """By which the logits of student and teacher are divided; the loss is times temperature^2
    (Hinton et al. 2015, section 2). Jiao et al. 2020, section 3.2: 1."""
    soft_target_weight: float = Field(default=1.0, ge=0, le=1)
    """Weight of the teacher's outputs; the task's own loss has the rest. 0 is fine-tuning without a
    teacher. Jiao et al. 2020, equation 10: 1."""


class TaskDistillation(SoftTargetLoss):
    """Fine-tuning on the outputs of another arm that is fine-tuned on the same task: the prediction
    layer of TinyBERT's task-specific distillation (Jiao et al. 2020, section 3.2, equation 10)."""

    teacher: str
    """Name of the arm whose fine-tuned networks teach, seed by seed."""


def distillation_problem(
    distillation: TaskDistillation,
    tasks: Collection[Task],
    protocol: Protocol,
    adaptation: Adaptation,
) -> str:
    """Why `tasks` cannot be learned from a teacher; empty if they can."""
    if not adaptation.trains:
        return f"distillation needs an adaptation that trains, but it is {adaptation.kind}"
    for task in tasks:
        if answered_as_text(task, protocol):
            return f"distillation needs an output layer, but {task.name} is answered as text"
        if task.kind not in KINDS:
            return (
                f"distillation is for tasks of {' and '.join(KINDS)}, but {task.name} is of "
                f"{task.kind}; choose others with tasks"
            )
    if distillation.temperature != 1 and all(task.kind == "regression" for task in tasks):
        return (
            "distillation.temperature is for classes, but all tasks are of regression; leave it out"
        )
    return ""
