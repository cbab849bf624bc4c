"""Checks of `evaluate.protocol.index`."""

from collections.abc import Sequence

from harness.experiment.arms import Arm
from harness.experiment.checks.grid import Problems
from harness.experiment.experiment import Experiment
from harness.finetuning.retrieval_index import missing_package

INDEX = ("evaluate", "protocol", "index")


def index_problems(experiment: Experiment, arms: Sequence[Arm]) -> Problems:
    """Indexes without a task that they search, or without their library."""
    if not any(arm.evaluate.protocol.index for arm in arms):
        return
    chosen = experiment.evaluate.chosen.values()
    if not any(task.kind == "retrieval" for task in chosen):
        names = ", ".join(f"{task.name} ({task.kind})" for task in list(chosen)[:3])
        rest = f" and {len(chosen) - 3} others" if len(chosen) > 3 else ""
        yield (
            INDEX,
            "evaluate.protocol.index needs a task of kind retrieval, but the tasks are "
            f"{names}{rest}; leave it out",
        )
    elif why := missing_package():
        yield INDEX, f"evaluate.protocol.index {why}"
