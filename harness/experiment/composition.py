"""`extends:` and `variants:`: experiments based on others, with the place of every value."""

import copy
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError, field_validator

from harness.core.config import ConfigModel, as_tuples, unknown_name
from harness.core.files import file_exists
from harness.core.names import Name
from harness.core.shipped import shipped_experiments
from harness.experiment.experiment_file import read_text
from harness.experiment.field_paths import split_path
from harness.experiment.messages import error_messages
from harness.experiment.source import AFTER_ALL_FILES, Place, Source, value_at


class Composition(ConfigModel):
    """Fields of an experiment file that compose it from other files."""

    extends: tuple[str, ...] = ()
    """One or several base experiments: a file (relative to this one) or the name of a shipped
    experiment. Later ones and this file take precedence. Mappings are merged; lists, budgets,
    the grid and a search space are replaced; `name` is not inherited."""
    variants: Mapping[Name, Mapping[str, Any]] = Field(default_factory=dict, max_length=200)
    """Name to the fields that `--variant NAME` changes, as dotted path to value."""

    @field_validator("extends", mode="before", json_schema_input_type=str | list[str])
    @classmethod
    def _one_or_many(cls, value: Any) -> Any:
        return (value,) if isinstance(value, str) else as_tuples(value)


def compose(source: Source, variants: Sequence[str] = (), overrides: Sequence[str] = ()) -> Source:
    """`source` merged into the files that it extends, with `variants`, then `overrides` applied.

    Wrong fields and unknown names are reported to the source.

    Raises:
        DeclarationError: a base is unknown, or a file cannot be read, or is not a mapping.
    """
    source = _on_bases(source, (source.path.resolve(),))
    declared = source.data.pop("variants", {})
    source.variants = tuple(declared)
    for name in variants:
        _apply(source, declared, name)
    for override in overrides:
        source.set(override)
    return source


def _on_bases(source: Source, chain: tuple[Path, ...]) -> Source:
    composed = _checked(source)
    bases = [_base(source, index, chain) for index in range(len(composed.extends))]
    if None in bases:
        source.raise_problems()  # the fields of the base would be reported as missing, too
    source.data.pop("extends", None)
    merged = Source(source.path, {}, source.depth, {(): source.places[()]})
    for layer in [*(base for base in bases if base), source]:
        merged.merge(layer)
    return merged


def _checked(source: Source) -> Composition:
    """`extends` and `variants`; wrong `variants` are reported and removed.

    Raises:
        DeclarationError: `extends` is wrong.
    """
    names = Composition.model_fields
    fields = {name: source.data[name] for name in names if name in source.data}
    try:
        return Composition.read(fields)
    except ValidationError as error:
        for keys, message in error_messages(error, Composition, (), fields):
            source.report(keys, message)
        wrong = {str(detail["loc"][0]) for detail in error.errors()}
        if "extends" in wrong:
            source.raise_problems()
        for name in wrong:
            del source.data[name], fields[name]
        return Composition.read(fields)


def _base(source: Source, index: int, chain: tuple[Path, ...]) -> Source | None:
    """Base `index` of `extends`, composed; null if it cannot be found, which is reported."""
    given = source.data["extends"]
    name = given if isinstance(given, str) else given[index]
    keys = ("extends",) if isinstance(given, str) else ("extends", index)
    path = find(name, source.path.parent)
    if path is None:
        message = unknown_name("the file or shipped experiment", name, shipped_experiments())
        source.report(keys, f"extends: {message}")
        return None
    if path.resolve() in chain:
        circle = " -> ".join(file.name for file in (*chain, path))
        source.report(keys, f"extends: an experiment cannot extend itself, but does: {circle}")
        return None
    base = Source.parse(path, read_text(path), len(chain))
    base.data.pop("name", None)
    return _on_bases(base, (*chain, path.resolve()))


def find(name: str, folder: Path) -> Path | None:
    """The experiment file `name`: relative to `folder`, or shipped; null if there is none."""
    path = folder / name
    return path if file_exists(path) else shipped_experiments().get(name)


def _apply(source: Source, declared: Mapping[str, Any], name: str) -> None:
    """Applies a variant and appends its name to the experiment's, unless the variant sets one."""
    if name not in declared:
        none = "the experiment declares no variants; leave it out"
        message = unknown_name("the variant", name, declared) if declared else none
        source.problems[Place((AFTER_ALL_FILES, "", 0), f"--variant {name}"), message] = None
        return
    before = copy.deepcopy(source.data)
    for path in declared[name]:
        source.drop_other_budget(path)
    for path, value in declared[name].items():
        source.merge_path(path, value, ("variants", name, path))
    source.varied[name] = {
        path: (old, new)
        for given in declared[name]
        for path, old, new in _changed(given, _value(before, given), _value(source.data, given))
    }
    base = before.get("name")
    if isinstance(base, str) and source.data.get("name") == base:
        source.data["name"] = f"{base}-{name}"


def _value(data: Any, path: str) -> Any:
    return value_at(data, split_path(path, data.get("grid")))


def _changed(path: str, old: Any, new: Any) -> Iterator[tuple[str, Any, Any]]:
    """(dotted path, old, new) of the innermost values that differ."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in dict.fromkeys([*old, *new]):
            yield from _changed(f"{path}.{key}", old.get(key), new.get(key))
    elif old != new:
        yield path, old, new
