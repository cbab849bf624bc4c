"""Pooling of marked words beside settings that change texts, or that read other tasks."""

from harness.experiment.arms import Arm
from harness.experiment.checks.grid import Problems
from harness.experiment.evaluation import Evaluate


def problems(arm: Arm) -> Problems:
    """What excludes `protocol.pooling: word`."""
    if arm.evaluate.protocol.pooling != "word":
        return
    for field, why in _excluded(arm.evaluate).items():
        yield (
            ("evaluate", "protocol", "pooling"),
            f"evaluate.protocol.pooling must not be word for {arm.name!r} with {field}, {why}; "
            "leave one out",
        )


def _excluded(evaluate: Evaluate) -> dict[str, str]:
    """Field to the reason, of those that are set."""
    protocol, teacher = evaluate.protocol, evaluate.distillation
    other_tasks = "whose tasks need not mark words"
    moved = "as words then stand elsewhere"
    found = {
        "intermediate_tasks": (evaluate.intermediate_tasks, other_tasks),
        "multitask": (evaluate.multitask, other_tasks),
        "sequential": (evaluate.sequential, other_tasks),
        "distillation.augment": (teacher and teacher.augment, moved),
        "protocol.perturb": (protocol.perturb.content, moved),
        "protocol.both_orders": (protocol.both_orders, moved),
        "protocol.head: bilstm_attention": (
            protocol.head == "bilstm_attention",
            "which pools all words",
        ),
    }
    return {field: why for field, (is_set, why) in found.items() if is_set}
