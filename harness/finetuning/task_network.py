"""Which tasks and adaptations have a task network (`protocol.head`), known at planning time."""

from collections.abc import Collection

from harness.finetuning.adaptation import Adaptation
from harness.finetuning.compatibility import answered_as_text
from harness.finetuning.protocol import Protocol
from harness.tasks.task import Task

KINDS = ("classification", "regression", "multiple_choice", "tagging", "coreference")
"""Kinds of tasks with a task network: those with trained layers on the vector of a text or word."""


def task_network_problem(
    protocol: Protocol, tasks: Collection[Task], adaptation: Adaptation
) -> str:
    """Why `tasks` cannot have a task network under `protocol`; empty if they can."""
    if not adaptation.trains:
        return (
            "protocol.head needs an adaptation that trains an output layer, but it is "
            f"{adaptation.kind}; leave it out"
        )
    for task in tasks:
        if answered_as_text(task, protocol):
            return (
                f"protocol.head needs an output layer, but {task.name} is answered as text; leave "
                "it out"
            )
        if task.kind not in KINDS:
            return (
                f"protocol.head is for tasks of {', '.join(KINDS)}, but {task.name} is of "
                f"{task.kind}; choose others with tasks"
            )
    return ""
