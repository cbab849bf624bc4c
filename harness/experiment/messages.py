"""Error messages from pydantic's errors: field, requirement, given value, allowed values."""

import json
import re
from collections.abc import Collection, Iterator, Mapping
from difflib import get_close_matches
from typing import Any, get_args

from pydantic import ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from harness.core.config import KIND_FIELDS, ConfigModel, unknown_name
from harness.core.synonyms import SYNONYMS
from harness.data.corpora.local_files import source_of
from harness.experiment.field_hints import field_hint, models_of
from harness.experiment.recipe_defaults import NAMED
from harness.experiment.yaml_reader import Keys

MUST = {
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "bool_type": "must be true or false",
    "string_type": "must be text",
    "literal_error": "must be {expected}",
    "greater_than": "must be greater than {gt:,}",
    "greater_than_equal": "must be at least {ge:,}",
    "less_than": "must be less than {lt:,}",
    "less_than_equal": "must be at most {le:,}",
    "finite_number": "must be a finite number",
    "string_pattern_mismatch": "must match {pattern}",
    "string_too_short": "must not be empty",
    "string_too_long": "must have at most {max_length} characters",
    "too_long": "must have at most {max_length} entries",
    "too_short": "must have at least {min_length} value(s)",
    "tuple_type": "must be a list",
    "dict_type": "must be a mapping of names to values",
    "model_type": "must be a mapping of fields",
    "model_attributes_type": "must be a mapping of fields",
}
"""Error type to requirement; other types keep pydantic's message."""
MAPPINGS = {
    "corpus": "; or a mapping, such as {source: hub, path: allenai/c4, config: de} or "
    "{source: text, path: my-texts/}"
}
"""Field with names to an example of what it also takes."""
FORMS = {
    "tasks": "must be a list of tasks of the suite, or a mapping to data of your own, such as "
    "{reviews: {data: train.csv}}",
    "budget": "must be a mapping with a unit, such as {tokens: 1M}",
    "seeds": "must be a mapping of fields, such as {pretrain: 3, finetune: 1}",
    "evaluate": "must be a mapping of fields, such as {suite: micro-glue-v1}",
    "suite": "must be a name in 'harness list suites', or a mapping with name and tasks "
    "(leave it out for the default)",
    "expect": "must be an expectation, such as 'arm > arm', or a list of them",
}
"""Field that takes names or fields to what it must be."""
AXIS = "must be a list of values, or a mapping of labels to fields"
"""What an axis of `grid` must be."""
SEARCHED = "must be a list of choices, or a range, such as {low: 1.0e-4, high: 1.0e-3}"
"""What a hyperparameter of a search space must be."""
COMPOSED = ("extends", "variants")
"""Fields of a file that are merged before it is read as an `Experiment`."""
TYPING_ERROR = 0.85
"""Least similarity of a name to another one that it was meant to be."""
EXPONENT = re.compile(r"[-+]?\d+(\.\d*)?e[-+]?\d+")
"""A number without the point or the sign that YAML 1.1 requires."""
MAX_PROBLEMS = 100
"""Number of problems after which a file is not checked further."""
MAX_SHOWN = 60
"""Maximum length of a value in a message."""


def error_messages(
    error: ValidationError, model: type[ConfigModel], root: Keys, data: Any
) -> Iterator[tuple[Keys, str]]:
    """(keys, message) of each error, at most one for each place and MAX_PROBLEMS altogether.

    Args:
        model: the class that refused the data.
        root: keys of the data in the experiment.
        data: the data that were refused.
    """
    seen: set[tuple[Keys, bool]] = set()
    details = [one for one in error.errors(include_url=False) if not _is_consequence(one)]
    places = [_keys(one["loc"], data, missing=one["type"] == "missing") for one in details]
    names = {
        keys: one["ctx"]["expected"]
        for keys, one in zip(places, details, strict=True)
        if one["type"] == "literal_error"
    }
    for keys, detail in zip(places, details, strict=True):
        if len(seen) >= MAX_PROBLEMS:
            return
        whole = detail["type"] == "value_error"
        if (keys, whole) not in seen:  # each branch of a union reports its own errors
            seen.add((keys, whole))
            yield (*root, *keys), _message(detail, (*root, *keys), model, names.get(keys, ""))


def dotted(keys: Keys) -> str:
    """`pretrain.phases[0].fraction`."""
    parts = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in keys)
    return parts.removeprefix(".")


def shown(value: Any) -> str:
    """A value as in YAML, at most MAX_SHOWN characters."""
    is_text = isinstance(value, str)
    text = repr(value) if is_text else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 3] + "..."


def _keys(loc: tuple[int | str, ...], data: Any, *, missing: bool) -> Keys:
    """`loc` without the names of union members, which pydantic inserts between the keys."""
    keys: Keys = ()
    for step in loc[:-1] if missing else loc:
        if _contains(data, step):
            data = data[step]
            keys = (*keys, step)
    return (*keys, loc[-1]) if missing else keys


def _contains(data: Any, step: int | str) -> bool:
    if isinstance(data, (list, tuple)):
        return isinstance(step, int) and step < len(data)
    return isinstance(data, Mapping) and step in data


def _is_consequence(detail: ErrorDetails) -> bool:
    """Whether a list is too short only without its invalid items, each of which is an error."""
    return detail["type"] == "too_short" and len(detail["input"]) >= detail["ctx"]["min_length"]


def _message(detail: ErrorDetails, keys: Keys, model: type[ConfigModel], names: str) -> str:
    """The message; `names` are those that the field takes, too, as `'auto'`."""
    kind, given = detail["type"], detail["input"]
    context = {name: _whole(value) for name, value in detail.get("ctx", {}).items()}
    name = dotted(keys) or "the file"
    if kind == "missing":
        return f"{name} is required, but is not given"
    if kind == "extra_forbidden":
        holder = dotted(keys[:-1]) or "an experiment"
        is_file = keys[-1] == "path" and {"corpus", "held_out"} & {*keys}
        if is_file and isinstance(given, str) and (source := source_of(given)):
            return f"{holder}: a path needs the source that reads it; add source: {source}"
        composed = () if keys[:-1] else COMPOSED
        if keys[-1] in composed:  # else it was merged before
            return f"{keys[-1]} must be set in the file; overrides and variants come after it"
        known = [*_fields(model, detail["loc"]), *composed]
        return f"{holder}: {_unknown_field(str(keys[-1]), holder, known)}"
    if kind.startswith("union_tag"):
        return _tag(name, given, context)
    if kind == "value_error":
        message = str(context["error"])
        return f"{name} {message}" if message.startswith("must ") else f"{name}: {message}"
    if isinstance(given, str) and keys[-1] in NAMED and "type" in kind:
        if keys[-1] == "corpus" and (source := source_of(given)):
            form = f"{{source: {source}, path: {given}}}"
            return f"{name} must be a name or a mapping, but is the path {given!r}; write {form}"
        unknown = unknown_name(f"the {keys[-1]}", given, NAMED[str(keys[-1])])
        return f"{name}: {unknown}{MAPPINGS.get(str(keys[-1]), '')}"
    must = MUST[kind].format(**context) if kind in MUST else detail["msg"]
    if kind.startswith("model_") or kind == "tuple_type":
        must = AXIS if keys[0] == "grid" and len(keys) == 2 else FORMS.get(str(keys[-1]), must)
        must = SEARCHED if keys[-2:-1] == ("space",) else must
    elif names and kind.endswith("_type"):
        must = f"{must.replace(' or ', ', ')} or {names}"
    hint = _near(given, context.get("expected", "")) or _exponent(given, kind)
    return f"{name} {must}, but is {shown(given)}{hint}"


def _exponent(given: Any, kind: str) -> str:
    """A hint on `5e-4`, which is a number in experiment files, but text in YAML 1.1."""
    if kind != "float_type" or not isinstance(given, str) or not EXPONENT.fullmatch(given):
        return ""
    digits, _, power = given.partition("e")
    number = digits if "." in digits else f"{digits}.0"
    return f", which is text for PyYAML; write {number}e{int(power):+}"


def _whole(value: Any) -> Any:
    """A bound as a whole number, if it is one."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _unknown_field(name: str, holder: str, known: Collection[str]) -> str:
    """The message with a name in the same mapping that is the same in other tools, or nearly the
    same; else with the field's own place; else with the closest name in the same mapping."""
    is_here = SYNONYMS.get(name) in known or get_close_matches(name, known, cutoff=TYPING_ERROR)
    if not is_here and (place := field_hint(name, holder)):
        return f"the field {name!r} is not known; did you mean {place}?"
    return unknown_name("the field", name, known)


def _tag(name: str, given: Any, context: Mapping[str, Any]) -> str:
    """The message on a mapping whose kind is missing or unknown."""
    field = f"{name}.{context['discriminator'].strip(chr(39))}"
    if "tag" not in context:
        return f"{field} is required, but is not given"
    tag, expected = context["tag"], context["expected_tags"]
    return f"{field} must be one of {expected}, but is {shown(tag)}{_near(tag, expected)}"


def _near(given: Any, expected: str) -> str:
    names = re.findall(r"'([^']*)'", expected)
    near = get_close_matches(given, names, n=1) if isinstance(given, str) else []
    return f"; did you mean {near[0]!r}?" if near else ""


def _fields(model: type[ConfigModel], loc: tuple[int | str, ...]) -> Mapping[str, FieldInfo]:
    """The fields allowed in place of the last step of `loc`."""
    models = [model]
    for step in loc[:-1]:
        inner = [m for holder in models for m in models_of(holder.model_fields.get(str(step)))]
        tagged = [m for m in models if step in _tags(m)]
        models = inner or tagged or models
    return {name: field for holder in models for name, field in holder.model_fields.items()}


def _tags(model: type[ConfigModel]) -> tuple[Any, ...]:
    fields = (model.model_fields.get(tag) for tag in KIND_FIELDS)
    return tuple(name for field in fields if field for name in get_args(field.annotation))
