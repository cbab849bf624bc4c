"""Where the values of an arm were given: by an axis of the grid or by the base."""

from collections.abc import Mapping
from typing import Any

from harness.experiment.arms import arm_name, choices
from harness.experiment.checks import grid
from harness.experiment.experiment import Experiment
from harness.experiment.source import Source, mentions
from harness.experiment.yaml_reader import Keys


def value_place(
    source: Source, experiment: Experiment, labels: Mapping[str, str], keys: Keys, message: str
) -> Keys:
    """Keys in the file of an arm's value at `keys`: in an axis of the grid or in the base.

    If the value has several fields, the innermost one that the message mentions is chosen; fields
    that an axis sets take precedence.

    Args:
        labels: axis to label, as in `Arm.labels`.
        message: the problem with the value; empty for the value as a whole.
    """
    by_axis = axis_place(experiment, labels, keys)
    if by_axis is not None:
        return by_axis
    sets = _axis_values(experiment, labels)
    inside = [path for path in sets if path[: len(keys)] == keys]
    for path in sorted(inside, key=len, reverse=True):
        if mentions(message, path, sets[path][1]):
            return sets[path][0]
    if inside and keys not in source.places:
        return sets[inside[0]][0]
    return source.mentioned(keys, message)


def axis_place(experiment: Experiment, labels: Mapping[str, str], keys: Keys) -> Keys | None:
    """Keys in the file at which an axis sets an arm's value at `keys`; null if none does."""
    sets = _axis_values(experiment, labels)
    for path in sorted(sets, key=len, reverse=True):
        place, value = sets[path]
        rest = keys[len(path) :]
        if path == keys[: len(path)] and _determines(value, rest):
            return (*place, *rest)
    return None


def _axis_values(experiment: Experiment, labels: Mapping[str, str]) -> dict[Keys, tuple[Keys, Any]]:
    """Fields that axes and `arms` set in an arm: keys in the arm to (keys in the file, value)."""
    name = arm_name(experiment, labels)
    own = experiment.arms.get(name, {}).items()
    return {
        tuple(path.split(".")): (grid.origin(experiment.grid, axis, label, path), value)
        for axis, label in labels.items()
        for path, value in dict(choices(axis, experiment.grid[axis]))[label].items()
    } | {tuple(path.split(".")): (("arms", name, path), value) for path, value in own}


def _determines(value: Any, keys: Keys) -> bool:
    """Whether the value of an axis sets `keys` within it: mappings are merged, others replace."""
    return not keys or not isinstance(value, Mapping) or keys[0] in value
