"""Dotted paths of fields in overrides and variants."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from harness.experiment.yaml_reader import Keys

OF_ARM = re.compile(r"arms\.(?P<arm>.+?)\.(?P<field>(?:pretrain|evaluate)(?:\.\w+)+)")
"""Path of a field of one arm, whose name may contain dots and `=`."""


PRETRAIN_SPACE = ("sweep", "pretrain", "space")
"""Keys of the space whose hyperparameters are dotted paths."""


def split_path(path: str, grid: Any = None) -> Keys:
    """The keys of a dotted path; a dotted axis of `grid`, the field of an arm or of a value of an
    axis, and a searched field of `pretrain`, is a single key.

    Args:
        grid: the axes so far, by which the name of a value is known from that of its axis.
    """
    if of_arm := OF_ARM.fullmatch(path):
        return ("arms", of_arm["arm"], of_arm["field"])
    if path.startswith(space := f"{'.'.join(PRETRAIN_SPACE)}."):
        return (*PRETRAIN_SPACE, path.removeprefix(space))
    head, _, rest = path.partition(".")
    if head != "grid" or not rest:
        return tuple(path.split("."))
    return ("grid", *_keys_in_grid(rest, grid if isinstance(grid, dict) else {}))


def _keys_in_grid(path: str, grid: Mapping[str, Any]) -> Keys:
    axis, inside = _split_after(path, grid)
    if not inside or not isinstance(grid.get(axis), dict):
        return (path,)
    label, name = _split_after(inside, grid[axis])
    return (axis, label, name) if name else (axis, label)


def _split_after(path: str, names: Iterable[Any]) -> tuple[str, str]:
    """A path split after the longest of `names` that it starts with, or else its first part."""
    known = [name for name in map(str, names) if f"{path}.".startswith(f"{name}.")]
    first = max(known, key=len, default=path.partition(".")[0])
    return first, path[len(first) + 1 :]
