"""The fields that the values of an axis set, and where."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from harness.experiment.experiment import Axis
from harness.experiment.yaml_reader import Keys


def axis_paths(axis: str, values: Axis) -> Iterator[tuple[Keys, str]]:
    """(keys, dotted path) of each field that an axis sets, at its first place."""
    if not isinstance(values, Mapping):
        yield ("grid", axis), axis
        return
    first: dict[str, Keys] = {}
    for keys, path, _ in axis_fields(axis, values):
        first.setdefault(path, keys)
    yield from ((keys, path) for path, keys in first.items())


def axis_fields(axis: str, values: Axis) -> Iterator[tuple[Keys, str, Any]]:
    """(keys, dotted path, value) of each field that each value of an axis sets."""
    if not isinstance(values, Mapping):
        yield from ((("grid", axis), axis, value) for value in values)
        return
    for label, sets in values.items():
        yield from ((("grid", axis, label, path), path, value) for path, value in sets.items())


def fields_within(path: str, value: Any) -> Iterable[str]:
    """The dotted paths of a field and of the innermost fields that its value sets."""
    return dict.fromkeys([path, *_innermost(path, value)])


def _innermost(path: str, value: Any) -> Iterator[str]:
    if not isinstance(value, Mapping):
        yield path
        return
    for name, inner in value.items():
        yield from _innermost(f"{path}.{name}", inner)
