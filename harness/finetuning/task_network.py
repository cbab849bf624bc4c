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
    if protocol.head == "bilstm_attention" and protocol.both_orders:
        return (
            "protocol.head: bilstm_attention reads the texts of a pair separately, but both_orders "
            "is true; leave it out"
        )
    for task in tasks:
        if answered_as_text(task, protocol):
            return (
                f"protocol.head needs an output layer, but {task.name} is answered as text; leave "
                "it out"
            )
        kinds = KINDS[:2] if protocol.head == "bilstm_attention" else KINDS
        if task.kind not in kinds:
            return (
                f"protocol.head {protocol.head} is for tasks of {', '.join(kinds)}, but "
                f"{task.name} is of {task.kind}; choose others with tasks"
            )
    return ""
