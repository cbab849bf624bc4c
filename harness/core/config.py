"""The base class of all declared values, and operations on nested plain data."""

import json
import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from difflib import get_close_matches
from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict
from pydantic_core import to_json

from harness.core.synonyms import SYNONYMS


class ConfigModel(BaseModel):
    """A frozen, validated value without unknown fields. Equal values have equal dumps and stage
    keys."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        allow_inf_nan=False,
        defer_build=True,
    )

    def __hash__(self) -> int:
        """Also of values with lists and dictionaries, which settings of plug-ins may have."""
        try:
            return hash((type(self), *self.__dict__.values()))
        except TypeError:
            return hash(json.dumps(self.model_dump(mode="json"), sort_keys=True))

    @classmethod
    def read(cls, data: Any) -> Self:
        """A value from plain data with strict JSON types: neither "3" nor true is a number.

        Raises:
            pydantic.ValidationError: the data do not describe such a value.
        """
        return cls.model_validate_json(to_json(data, inf_nan_mode="constants"), strict=True)


UNITS = {"k": 10**3, "M": 10**6, "B": 10**9, "G": 10**9}


def read_count(value: Any) -> Any:
    """`value`, with `500k`, `1M`, `2.5B` or `2.5G` as the whole number that it means."""
    match = (
        re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)([kMBG])", value) if isinstance(value, str) else None
    )
    if match is None:
        return value
    count = Decimal(match[1]) * UNITS[match[2]]
    return int(count) if count == int(count) else value


Count = Annotated[int, BeforeValidator(read_count)]
"""A whole number, also written as `500k`, `1M`, and `2.5B` or `2.5G`."""

KIND_FIELDS = ("source", "kind")
"""Discriminator fields: a mapping with another value in one of them is replaced, not merged."""
SHARED_FIELDS = ("optimizer",)
"""Fields of which all kinds have the same fields: another kind leaves the others as they are."""


def kind_from_name(value: Any) -> Any:
    """`value`, with a name alone expanded to the kind with default fields."""
    return {"kind": value} if isinstance(value, str) else value


def deep_merge(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """`base` merged with `changes` recursively; lists and scalars are replaced."""
    merged = dict(base)
    for name, new in changes.items():
        old = merged.get(name)
        if isinstance(old, Mapping) and can_merge(old, new, name):
            merged[name] = deep_merge(old, new)
        else:
            merged[name] = new
    return merged


def can_merge(old: Any, new: Any, field: str | int = "") -> bool:
    """Whether both values of a field are mappings that do not name kinds with different fields."""
    if not isinstance(old, Mapping) or not isinstance(new, Mapping):
        return False
    return field in SHARED_FIELDS or all(
        old.get(tag) == new.get(tag, old.get(tag)) for tag in KIND_FIELDS
    )


def set_path(tree: Mapping[str, Any], path: str, value: Any) -> dict[str, Any]:
    """`tree` with `value` at a dotted `path`; mappings are merged as in `deep_merge`."""
    head, _, rest = path.partition(".")
    below = tree.get(head)
    inner = set_path(below if isinstance(below, Mapping) else {}, rest, value) if rest else value
    return deep_merge(tree, {head: inner})


def as_tuples(data: Any) -> Any:
    """`data` with all lists as tuples, which strict fields require from validators."""
    if isinstance(data, Mapping):
        return {name: as_tuples(value) for name, value in data.items()}
    return tuple(as_tuples(value) for value in data) if isinstance(data, (list, tuple)) else data


def as_declared(data: Any) -> Any:
    """`data` with config values as plain data: the fields that were set, and those that name a
    kind."""
    if isinstance(data, ConfigModel):
        names = data.model_fields_set | (set(KIND_FIELDS) & set(type(data).model_fields))
        fields = (name for name in type(data).model_fields if name in names)
        return {name: as_declared(getattr(data, name)) for name in fields}
    if isinstance(data, Mapping):
        return {name: as_declared(value) for name, value in data.items()}
    return [as_declared(value) for value in data] if isinstance(data, (list, tuple)) else data


MAX_KNOWN = 200
"""Names listed in a message."""
MAX_BESIDE_NEAR = 25
"""Names listed beside a suggestion."""
MAX_COMPARED = 1_000
"""Names that are compared with an unknown one, and characters of such a name."""


def unknown_name(kind: str, name: object, known: Iterable[str]) -> str:
    """The error message for a name that is not among the known ones, with the closest match."""
    names = list(known)
    near = near_name(name, names)
    most = MAX_BESIDE_NEAR if near else MAX_KNOWN
    rest = f" and {len(names) - most:,} others" if len(names) > most else ""
    return f"{kind} {name!r} is not known; {near}known: {', '.join(names[:most]) or 'none'}{rest}"


def near_name(name: object, known: Iterable[str]) -> str:
    """`did you mean 'x'? ` with the known name that other tools give this one, else the closest of
    them, whatever their case; empty if none is close."""
    if not isinstance(name, str) or len(name) > MAX_COMPARED:
        return ""
    known = list(known)
    if name in SYNONYMS and SYNONYMS[name] in known:
        return f"did you mean {SYNONYMS[name]!r}? "
    names = {one.casefold(): one for one in known[:MAX_COMPARED]}
    near = get_close_matches(name.casefold(), names, n=1)
    return f"did you mean {names[near[0]]!r}? " if near else ""
