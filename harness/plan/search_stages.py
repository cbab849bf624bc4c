"""Stages of the search of settings.

Trials that heed no other are stages of their own, named by their number and not by how many there
are: they run side by side, and more trials reuse those that are done. Trials that learn from those
before them are one stage, whose study is named likewise.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from harness.experiment.arms import Arm
from harness.finetuning.search.sweep import Sweep
from harness.plan.keys import stage_key
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
    label = f"{arm.name}, {task.name}, {sweep.size} trials"
    lasting = {**base, "sweep": _lasting(sweep)}
    if sweep.sampler == "tpe":
        study = stage_key("tune", lasting, parents)
        return builder.stage("tune", label, {**spec, "study": study}, parents, flops * sweep.trials)
    trials = {
        trial_role(number): builder.stage(
            "trial",
            f"{arm.name}, {task.name}, trial {number}",
            {**lasting, "trial": number},
            parents,
            flops,
        )
        for number in range(sweep.size)
    }
    return builder.stage("tune", label, spec, trials)


def trial_role(number: int) -> str:
    """What a trial is to the stage that gathers it."""
    return f"trial{number}"


def _lasting(sweep: Sweep) -> dict[str, Any]:
    """What stays of a search when it is continued with more trials."""
    return sweep.model_dump(exclude={"trials"})
