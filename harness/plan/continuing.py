"""Stages between pretraining and a task."""

from typing import TYPE_CHECKING

from harness.experiment import Arm
from harness.tasks.task import Task

if TYPE_CHECKING:
    from harness.plan.builder import Builder


def pretrained(builder: "Builder", arm: Arm, task: Task, seed: int, tokenizer: str) -> str:
    """Key of the pretrained model that is adapted to `task`."""
    return builder.pretrains[arm.name, seed]
