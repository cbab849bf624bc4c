"""Where an arm's values were given: by an axis of the grid or by the base."""

from collections.abc import Mapping
from typing import Any

from harness.experiment.arms import choices
from harness.experiment.checks import grid
from harness.experiment.experiment import Experiment
from harness.experiment.source import Source, mentions
from harness.experiment.yaml_reader import Keys


def value_place(
    source: Source, experiment: Experiment, labels: Mapping[str, str], keys: Keys, message: str
) -> Keys:
    """Where an arm's value at `keys` was given: by an axis or by the base.

    A message about several fields is about the innermost one that it mentions, an axis' first.
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
    """Where in the file an axis sets an arm's value at `keys`; null if none does."""
    sets = _axis_values(experiment, labels)
    for path in sorted(sets, key=len, reverse=True):
        place, value = sets[path]
        rest = keys[len(path) :]
        if path == keys[: len(path)] and _gives(value, rest):
            return (*place, *rest)
    return None


def _axis_values(experiment: Experiment, labels: Mapping[str, str]) -> dict[Keys, tuple[Keys, Any]]:
    """What the grid sets in an arm: keys in the arm, to keys in the file and the value."""
    return {
        tuple(path.split(".")): (grid.origin(experiment.grid, axis, label, path), value)
        for axis, label in labels.items()
        for path, value in dict(choices(axis, experiment.grid[axis]))[label].items()
    }


def _gives(value: Any, keys: Keys) -> bool:
    """Whether an axis' value decides what stands at `keys` within it: all but mappings replace."""
    return not keys or not isinstance(value, Mapping) or keys[0] in value
