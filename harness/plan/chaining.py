"""Stages of the tasks that are learned before a task, or together with it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from harness.experiment import Arm
from harness.tasks.task import Task

if TYPE_CHECKING:
    from harness.plan.builder import Builder


def other_tasks(
    builder: "Builder", arm: Arm, task: Task, parents: Mapping[str, str], finetune_seed: int
) -> dict[str, str]:
    """Role to key of the stages that a run on `task` builds on beside its pretrained model."""
    return {}
