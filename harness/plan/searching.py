"""Stages of the search of settings."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from harness.experiment import Arm
from harness.tasks.task import Task

if TYPE_CHECKING:
    from harness.plan.builder import Builder


def searched(
    builder: "Builder",
    arm: Arm,
    task: Task,
    base: Mapping[str, Any],
    parents: Mapping[str, str],
    flops: float,
) -> str:
    """Key of the stage that chooses the settings of `arm` on `task`."""
    sweep = builder.experiment.sweep
    spec = {**base, "sweep": sweep.model_dump()}
    label = f"{arm.name}, {task.name}, {sweep.trials} trials"
    return builder.stage("tune", label, spec, parents, flops * sweep.trials)
