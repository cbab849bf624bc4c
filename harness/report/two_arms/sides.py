"""The two arms of a comparison; arms of two experiments must share suite, protocol and data."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from harness.analysis.results import Results
from harness.core.config import unknown_name
from harness.experiment.arms import Arm
from harness.plan.differences import flat_fields
from harness.plan.plan import FinetuneRun


@dataclass(frozen=True)
class Side:
    """An arm with the results of its experiment."""

    results: Results
    arm: Arm
    name: str
    """Of the arm, or `experiment: arm` beside another experiment."""


def two_sides(first: tuple[Results, str], second: tuple[Results, str]) -> tuple[Side, Side]:
    """Both arms, found and comparable.

    Args:
        first, second: results of an experiment, and the name of one of its arms.

    Raises:
        ValueError: an unknown arm, the same arm twice, no scores, or experiments that differ.
    """
    across = first[0].plan is not second[0].plan
    one, other = (_side(results, arm, across) for results, arm in (first, second))
    if one.name == other.name:
        raise ValueError(f"two different arms must be given, not {one.name} twice")
    if across and (unlike := list(_unlike(one, other))):
        raise ValueError(f"{one.name} and {other.name} are not comparable: {'; '.join(unlike)}")
    for side in (one, other):
        side.results.require(scores=True)
    return one, other


def _side(results: Results, name: str, across: bool) -> Side:
    arms = {arm.name: arm for arm in results.plan.arms}
    if name not in arms:
        raise ValueError(unknown_name(f"{results.experiment.name}: the arm", name, arms))
    shown = f"{results.experiment.name}: {name}" if across else name
    return Side(results, arms[name], shown)


def _unlike(one: Side, other: Side) -> Iterator[str]:
    """What differs between two experiments in suite, protocol and data, as text."""
    settings = [_protocol(side) for side in (one, other)]
    for path in dict.fromkeys([*settings[0], *settings[1]]):
        values = [fields.get(path) for fields in settings]
        if repr(values[0]) != repr(values[1]):
            yield f"{path} is {values[0]} and {values[1]}"
    first, second = _data(one), _data(other)
    for task, content in first.items():
        if second.get(task, content) != content:
            yield f"the data of {task} differ"


def _protocol(side: Side) -> dict[str, Any]:
    """Dotted path to value of what two experiments must share."""
    evaluate, sweep = side.arm.evaluate, side.results.sweep
    fields: dict[str, Any] = {
        "suite": evaluate.suite_value.name,
        "tasks": ", ".join(evaluate.chosen),
    }
    for name in ("adaptation", "protocol", "finetune"):
        fields |= flat_fields(f"evaluate.{name}", getattr(evaluate, name))
    stages = side.results.plan.stages
    if any(stages[run.key].spec.get("own_length") for run in _runs(side)):
        fields["evaluate.protocol.max_sequence_length"] = "the model's own"
    fields |= dict(flat_fields("sweep", sweep)) if sweep else {"sweep.trials": 0}
    return fields


def _runs(side: Side) -> list[FinetuneRun]:
    return [run for run in side.results.finetune_runs if run.arm == side.arm.name]


def _data(side: Side) -> dict[str, Any]:
    """Task to what identifies its data and its definition."""
    specs = {run.task: side.results.plan.stages[run.key].spec for run in _runs(side)}
    return {task: (spec.get("fingerprint"), spec.get("content")) for task, spec in specs.items()}
