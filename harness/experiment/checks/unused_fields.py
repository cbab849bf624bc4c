"""Fields of the protocol that no task reads."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from harness.experiment.arms import Arm
from harness.experiment.checks.grid import Problems
from harness.finetuning.compatibility import answered_as_text
from harness.finetuning.protocol import Protocol
from harness.tasks.task import COMPARED, Task


def _swapped(task: Task, protocol: Protocol) -> bool:
    """Whether a head may encode the texts of a pair in both orders."""
    as_pair = task.symmetric and task.kind not in COMPARED
    return as_pair and not answered_as_text(task, protocol)


def _in_windows(task: Task, protocol: Protocol) -> bool:
    """Whether long inputs are split into windows."""
    return task.kind in ("extraction", "tagging") and not answered_as_text(task, protocol)


READERS: Mapping[str, tuple[Callable[[Task, Protocol], bool], str]] = {
    "both_orders": (_swapped, "a symmetric pair under a head"),
    "num_beams": (answered_as_text, "answered as text"),
    "max_target_length": (answered_as_text, "answered as text"),
    "doc_stride": (_in_windows, "tagged, or answered with a span of the text, under a head"),
}
"""Field of the protocol to whether a task reads it, and what such a task is."""


def problems(arm: Arm, arms: Sequence[Arm]) -> Problems:
    """Fields that an arm sets, but that no task of any of the `arms` with them reads."""
    for field, (reads, kind) in READERS.items():
        if not _sets(arm, field):
            continue
        given = (one for one in arms if _sets(one, field))
        tasks = ((task, one.evaluate.protocol) for one in given for task in _tasks(one))
        if not any(reads(*one) for one in tasks):  # of many arms, the first may read it
            names = ", ".join(dict.fromkeys(task.name for task in _tasks(arm)))
            yield (
                ("evaluate", "protocol", field),
                f"evaluate.protocol.{field} has no effect: none of {names} is {kind}; leave it out",
            )


def _sets(arm: Arm, field: str) -> bool:
    default = Protocol.model_fields[field].default
    return bool(getattr(arm.evaluate.protocol, field) != default)


def _tasks(arm: Arm) -> Iterator[Task]:
    """Those that an arm is scored on or trained on before."""
    evaluate = arm.evaluate
    yield from evaluate.chosen.values()
    yield from (evaluate.known_tasks[name] for name in evaluate.earlier_tasks)
