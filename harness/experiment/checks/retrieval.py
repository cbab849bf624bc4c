"""Checks of `evaluate.protocol.index`."""

from harness.experiment.arms import Arm
from harness.experiment.checks.grid import Problems
from harness.finetuning.retrieval_index import missing_package

INDEX = ("evaluate", "protocol", "index")


def problems(arm: Arm) -> Problems:
    """An index without a task that it searches, or without its library."""
    if not arm.evaluate.protocol.index:
        return
    chosen = arm.evaluate.chosen.values()
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
