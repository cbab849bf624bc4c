"""Checks that variants and overrides have an effect."""

from collections.abc import Iterator, Sequence

from harness.experiment.arms import Arm
from harness.experiment.checks.grid import Problems
from harness.experiment.experiment import Experiment
from harness.experiment.origins import axis_place
from harness.experiment.yaml_reader import Keys

BUDGET = ("pretrain", "budget")
"""Set by an arm, it replaces the base's as a whole: the unit may be another."""


def overridden_problems(
    experiment: Experiment, arms: Sequence[Arm], changed: Sequence[Keys]
) -> Problems:
    """Fields, set by a variant or an override, that every arm sets itself.

    Args:
        changed: keys that variants and overrides have set.
    """
    for keys in _innermost(changed):
        path = ".".join(map(str, keys))
        setters = [_setter(experiment, arm, keys) for arm in arms]
        if setters and all(setters):
            shown = ", ".join(dict.fromkeys(filter(None, setters)))
            yield keys, f"{path} has no effect: {shown} sets it in every arm; change it there"


def _setter(experiment: Experiment, arm: Arm, keys: Keys) -> str | None:
    """The axis, as `grid.AXIS`, or the entry of `arms` that sets the field in an arm; null if none
    does."""
    if keys[:2] == BUDGET:
        of_budget = [tuple(path.split(".")) for path in arm.changes]
        keys = next((path for path in of_budget if path[:2] == BUDGET), keys)
    place = axis_place(experiment, arm.labels, keys)
    return ".".join(map(str, place[:2])) if place else None


def _innermost(changed: Sequence[Keys]) -> Iterator[Keys]:
    """The keys without those of values within lists, and of mappings with keys below."""
    fields = list(dict.fromkeys(_without_items(keys) for keys in changed))
    for keys in fields:
        if not any(other[: len(keys)] == keys and other != keys for other in fields):
            yield keys


def _without_items(keys: Keys) -> Keys:
    items = [depth for depth, key in enumerate(keys) if isinstance(key, int)]
    return keys[: items[0]] if items else keys
