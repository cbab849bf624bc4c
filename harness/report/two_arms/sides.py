"""The two arms of a comparison: they must share suite and data, and those of two experiments also
the protocol, which one experiment and its variants may vary."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from harness.analysis.results import Results
from harness.core.config import unknown_name
from harness.experiment.arms import Arm
from harness.finetuning.protocol import Finetune
from harness.plan.differences import flat_fields
from harness.plan.plan import FinetuneRun

SHARED = ("suite", "tasks")
"""What the arms of any comparison must share, besides the data."""


@dataclass(frozen=True)
class Side:
    """An arm with the results of its experiment."""

    results: Results
    arm: Arm
    name: str
    """Of the arm; of the experiment, beside the same arm of another one."""

    @property
    def label(self) -> str:
        """`experiment: arm`."""
        return f"{self.results.experiment.name}: {self.arm.name}"

    @property
    def searched(self) -> dict[str, str]:
        """Dotted path to what the search tries; also of an arm that trains nothing."""
        declared = self.results.experiment.sweep
        arm = self.arm if self.arm.sweep.trials else replace(self.arm, sweep=declared)
        tried = {f"evaluate.finetune.{name}": arm.searched(name) for name in Finetune.model_fields}
        return {path: text for path, text in tried.items() if text}


def two_sides(first: tuple[Results, str], second: tuple[Results, str]) -> tuple[Side, Side]:
    """Both arms, found and comparable.

    Args:
        first, second: results of an experiment, and the name of one of its arms.

    Raises:
        ValueError: an unknown arm, the same arm twice, no scores, or experiments that differ.
    """
    across = first[0].plan is not second[0].plan
    by_arm = first[1] != second[1]
    one, other = (_side(results, arm, by_arm) for results, arm in (first, second))
    if across and one.label == other.label:
        check_names(first[0], second[0])
    if one.label == other.label:
        raise ValueError(f"two different arms must be given, not {one.label} twice")
    if across and (unlike := [*_unlike(one, other)]):
        raise ValueError(f"{one.label} and {other.label} are not comparable: {'; '.join(unlike)}")
    for side in (one, other):
        side.results.require(scores=True)
    return one, other


def check_names(first: Results, second: Results) -> None:
    """Checks that two experiments have different names.

    Raises:
        ValueError: they have one name.
    """
    name = first.experiment.name
    if name == second.experiment.name:
        raise ValueError(f"both experiments are named {name}; give one of them another name")


def _side(results: Results, name: str, by_arm: bool) -> Side:
    arms = {arm.name: arm for arm in results.plan.arms}
    if name not in arms:
        raise ValueError(unknown_name(f"{results.experiment.name}: the arm", name, arms))
    return Side(results, arms[name], name if by_arm else results.experiment.name)


def _unlike(one: Side, other: Side) -> Iterator[str]:
    """What differs between two plans in suite and data, and in the protocol unless they are of one
    file, as text."""
    found = protocol_differences(one, other)
    is_free = one.results.plan.declaration.is_same_file(other.results.plan.declaration)
    for path, values in found.items():
        if not is_free or path in SHARED:
            yield f"{path} is {values[one.name]} and {values[other.name]}"
    first, second = _data(one), _data(other)
    for task, content in first.items():
        if second.get(task, content) != content:
            yield f"the data of {task} differ"


def protocol_differences(one: Side, other: Side) -> dict[str, dict[str, Any]]:
    """Dotted path to {name: value} of what differs in suite and protocol. The value of a searched
    setting is what the search tries."""
    settings = {side.name: _protocol(side) for side in (one, other)}
    paths = dict.fromkeys(path for fields in settings.values() for path in fields)
    table = {path: {name: of.get(path) for name, of in settings.items()} for path in paths}
    return {path: row for path, row in table.items() if len(set(map(repr, row.values()))) > 1}


def _protocol(side: Side) -> dict[str, Any]:
    """Dotted path to value of what two experiments must share."""
    evaluate, sweep = side.arm.evaluate, side.results.sweep
    fields: dict[str, Any] = dict(
        zip(SHARED, (evaluate.suite_value.name, ", ".join(evaluate.chosen)), strict=True)
    )
    for name in ("adaptation", "protocol", "finetune", "ensemble"):
        fields |= flat_fields(f"evaluate.{name}", getattr(evaluate, name))
    fields |= {path: f"searched ({text})" for path, text in side.searched.items()}
    stages = side.results.plan.stages
    if any(stages[run.key].spec.get("own_length") for run in _runs(side)):
        fields["evaluate.protocol.max_sequence_length"] = "the model's own"
    of_search = sweep.model_copy(update={"pretrain": None}) if sweep else None
    fields |= dict(flat_fields("sweep", of_search)) if of_search else {"sweep.trials": 0}
    return fields


def _runs(side: Side) -> list[FinetuneRun]:
    return [run for run in side.results.finetune_runs if run.arm == side.arm.name]


def _data(side: Side) -> dict[str, Any]:
    """Task to what identifies its data and its definition."""
    specs = {run.task: side.results.plan.stages[run.key].spec for run in _runs(side)}
    return {task: (spec.get("fingerprint"), spec.get("content")) for task, spec in specs.items()}
