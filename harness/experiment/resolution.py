"""Every field of an experiment and its arms, with the origin of its value."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from harness.experiment.arms import Arm
from harness.experiment.declaration import Declaration
from harness.experiment.messages import dotted
from harness.experiment.origins import axis_place
from harness.experiment.recipe_defaults import ROLES, is_small
from harness.experiment.source import value_at
from harness.experiment.yaml_reader import Keys
from harness.finetuning.protocol import Protocol
from harness.pretraining.recipes import RECIPES, small_sizes

ARM_FIELDS = ("pretrain", "evaluate")
"""Fields that differ between arms."""
DEFAULT = "default"


@dataclass(frozen=True)
class ResolvedField:
    """A field with its value and the origin of the value."""

    path: str
    """Dotted path."""
    value: Any
    """The value as plain data."""
    origin: str
    """`file:line`, a command-line option, `recipe NAME`, `hidden size N`, `positions of the
    network`, `default`, or the run that uses it."""


def experiment_fields(declaration: Declaration) -> list[ResolvedField]:
    """The fields that all arms share by definition: all but `pretrain`, `evaluate`, `grid` and
    `arms`."""
    dump = declaration.experiment.model_dump(mode="json", exclude={*ARM_FIELDS, "grid", "arms"})
    return [
        ResolvedField(dotted(keys), value, _given(declaration, keys) or DEFAULT)
        for keys, value in _leaves(dump)
    ]


def arm_fields(declaration: Declaration, arm: Arm) -> list[ResolvedField]:
    """The fields in `pretrain` and `evaluate` of one arm."""
    dump = {name: getattr(arm, name).model_dump(mode="json") for name in ARM_FIELDS}
    return [
        ResolvedField(dotted(keys), value, _origin(declaration, arm, keys, value))
        for keys, value in _leaves(dump)
    ]


def is_given(declaration: Declaration, path: str) -> bool:
    """Whether the base of an experiment gives the field at dotted `path`; false for data declared
    in Python without a file."""
    return bool(declaration.source and _given(declaration, tuple(path.split("."))))


def _leaves(tree: Mapping[str, Any], keys: Keys = ()) -> Iterator[tuple[Keys, Any]]:
    for name, value in tree.items():
        if isinstance(value, Mapping) and value:
            yield from _leaves(value, (*keys, name))
        else:
            yield (*keys, name), value


def _origin(declaration: Declaration, arm: Arm, keys: Keys, value: Any) -> str:
    source = declaration.source
    assert source is not None
    place = axis_place(declaration.experiment, arm.labels, keys)
    if place is not None:
        return source.place(place).text
    if given := _given(declaration, keys):
        return given
    if keys[-1] == "max_sequence_length" and value != Protocol().max_sequence_length:
        return "positions of the network"
    if dotted(keys).removeprefix("pretrain.") in small_sizes.IMPLIED and is_small(arm.pretrain):
        return f"hidden size {arm.pretrain.size.hidden_size}"
    recipe = RECIPES[arm.pretrain.recipe].model_dump(mode="json")
    if keys[0] == "pretrain" and value_at(recipe, keys[1:]) == value:
        return f"recipe {arm.pretrain.recipe}"
    return "the run that uses it" if keys[1] in ROLES else DEFAULT


def _given(declaration: Declaration, keys: Keys) -> str | None:
    """Where the user gave the value at `keys`, or a name in place of a value that contains it."""
    source = declaration.source
    assert source is not None
    for depth in range(len(keys), 0, -1):
        if keys[:depth] in source.places:
            value = value_at(source.data, keys[:depth])
            whole = depth == len(keys) or not isinstance(value, Mapping)
            return source.places[keys[:depth]].text if whole else None
    return None
