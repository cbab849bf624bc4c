"""An experiment file as plain data, with the place of every value and the problems found."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic_core import from_json, to_json

from harness.core.config import can_merge
from harness.experiment.field_paths import OF_ARM, split_path
from harness.experiment.messages import MAX_PROBLEMS, shown
from harness.experiment.recipe_defaults import expand_names
from harness.experiment.yaml_reader import Keys, YamlError, parse

AFTER_ALL_FILES = 2**31
"""`Place.order` of command-line options."""
REPLACED = ("grid", "budget", "space", "claims")
"""Mappings that are replaced, not merged: their entries exclude others, or name arms."""


class DeclarationError(ValueError):
    """An invalid experiment; the message has one line per problem, `file:line: problem`."""

    def __init__(self, problems: Sequence[str]) -> None:
        """`problems` are the lines of the message; line breaks in them are escaped."""
        self.problems = tuple(_one_line(problem) for problem in problems)
        super().__init__("\n".join(self.problems))


@dataclass(frozen=True)
class Place:
    """Where a value was given."""

    order: tuple[int, str, int]
    """Depth in the chain of `extends`, file and line: the sort key of problems."""
    text: str
    """`file:line`, or a command-line option."""

    @property
    def file(self) -> Path | None:
        """The file; null for a command-line option."""
        return Path(self.order[1]) if self.order[1] else None


@dataclass
class Source:
    """What the user declared: data, places and problems."""

    path: Path
    data: Any = None
    depth: int = 0
    """0 for the experiment file, 1 for its bases, 2 for their bases, and so on."""
    places: dict[Keys, Place] = field(default_factory=dict)
    """Keys of each value to its place."""
    problems: dict[tuple[Place, str], None] = field(default_factory=dict)
    """(place, message) of each problem; an ordered set."""
    num_overrides: int = 0
    variants: tuple[str, ...] = ()
    """Names of the variants that can be applied."""
    varied: dict[str, dict[str, tuple[Any, Any]]] = field(default_factory=dict)
    """Applied variant to {dotted path: (old, new value)} of the given fields that it changes."""
    changed: list[Keys] = field(default_factory=list)
    """Keys that variants and overrides have set."""
    aliases: dict[str, str] = field(default_factory=dict)
    """Dotted path of a value that was moved to the path at which the user gave it."""

    @classmethod
    def parse(cls, path: Path, text: str, depth: int = 0) -> "Source":
        """Reads a file; duplicate keys and the like are reported as problems.

        Args:
            text: the content of the file.

        Raises:
            DeclarationError: the text is not YAML, or not a mapping.
        """
        source = cls(path, depth=depth)
        try:
            document = parse(text)
        except YamlError as error:
            raise DeclarationError([f"{path}:{error.line}: {error}"]) from error
        if not isinstance(document.data, dict):
            given = "it is empty" if document.data is None else f"it is {shown(document.data)}"
            raise DeclarationError(
                [f"{path}:1: the file must be a mapping with name, question, pretrain, but {given}"]
            )
        source.data = document.data
        source.places = {keys: source.at(line) for keys, line in document.lines.items()}
        source.problems = {(source.at(line), text): None for line, text in document.problems}
        return source

    def at(self, line: int) -> Place:
        """The place of a line of the file."""
        return Place((self.depth, str(self.path), line), f"{self.path}:{line}")

    def place(self, keys: Keys) -> Place:
        """The place of the value at `keys`, or of the innermost value that contains it."""
        while keys not in self.places:
            keys = keys[:-1]
        return self.places[keys]

    def report(self, keys: Keys, message: str) -> None:
        """Records a problem with the value at `keys`.

        Raises:
            DeclarationError: there are MAX_PROBLEMS problems.
        """
        for path, given in self.aliases.items():
            message = message.replace(path, given)
        self.problems[self.place(keys), message] = None
        if len(self.problems) >= MAX_PROBLEMS:
            self.raise_problems()

    def report_all(self, problems: Iterable[tuple[Keys, str]]) -> None:
        """Records (keys, message) of each problem; see `report`.

        Raises:
            DeclarationError: there are MAX_PROBLEMS problems.
        """
        for keys, message in problems:
            self.report(keys, message)

    def raise_problems(self) -> None:
        """Raises if any problem was reported.

        Raises:
            DeclarationError: all problems, in the order of the file; of MAX_PROBLEMS or more, these
                and no others.
        """
        ordered = sorted(self.problems, key=lambda problem: problem[0].order)
        lines = [f"{place.text}: {message}" for place, message in ordered[:MAX_PROBLEMS]]
        if len(ordered) >= MAX_PROBLEMS:
            lines.append(f"{self.path}: there may be more problems; repair these first")
        if lines:
            raise DeclarationError(lines)

    def mentioned(self, keys: Keys, message: str) -> Keys:
        """Keys of the innermost value in `keys` that the message names or quotes; else `keys`."""
        inside = [below for below in self.places if below[: len(keys)] == keys and below != keys]
        found = [below for below in inside if mentions(message, below, value_at(self.data, below))]
        return max(found, key=len, default=keys)

    @classmethod
    def from_data(cls, data: Any) -> "Source":
        """Plain data without a file; `experiment` replaces the file in messages.

        Raises:
            DeclarationError: no mapping, or a value cannot be represented in YAML.
        """
        if not isinstance(data, Mapping):
            found = f"must be a mapping with name, question and pretrain, but is {shown(data)}"
            raise DeclarationError([f"experiment {found}; harness.load reads a file"])
        try:
            plain = from_json(to_json(data, inf_nan_mode="constants"))
        except ValueError as error:
            raise DeclarationError([f"experiment: {error}"]) from error
        source = cls(Path("experiment"), plain)
        source.places = {(): Place((0, "experiment", 0), "experiment")}
        return source

    def merge(self, top: "Source") -> None:
        """Merges `top` into this source: mappings are merged, other values replaced."""
        self.problems |= top.problems
        for name, value in top.data.items():
            self._merge((name,), value, top.places, (name,))

    def merge_path(self, path: str, value: Any, given: Keys) -> None:
        """Merges `value`, which is at `given` in this source, into the value at a dotted path."""
        places = dict(self.places)
        keys = split_path(path, self.data.get("grid"))
        self.changed += [(*keys, *inside) for inside in _keys_within(value)]
        if not self._merge(keys, value, places, given):
            self.problems[places[given], f"{path} is inside a value without fields"] = None

    def drop_other_budget(self, path: str) -> None:
        """Removes the budget in which a dotted path sets an amount: its unit may be another."""
        keys = split_path(path, self.data.get("grid"))[:-1]
        if keys[-1:] == ("budget",) and isinstance(value_at(self.data, keys), dict):
            self._replace(keys, {}, {}, ())

    def set(self, override: str) -> None:
        """Applies an override `path=value`; what is wrong with it is recorded as a problem."""
        self.num_overrides += 1
        order = (AFTER_ALL_FILES, "", self.num_overrides)
        place = Place(order, f"--set {override.strip()}")
        name = of_arm[0] if (of_arm := OF_ARM.match(override.strip())) else ""
        path, equals, text = override.strip().removeprefix(name).partition("=")
        path = name + path
        if not equals or not path.strip():
            self.problems[
                place, "an override must have the form path=value, such as seeds.pretrain=3"
            ] = None
            return
        try:
            document = parse(text)
        except YamlError as error:
            self.problems[place, str(error)] = None
            return
        self.problems |= {(place, message): None for _, message in document.problems}
        places = dict.fromkeys([(), *document.lines], place)  # an empty text has no lines
        self.drop_other_budget(path.strip())
        keys = split_path(path.strip(), self.data.get("grid"))
        self.changed += [(*keys, *inside) for inside in _keys_within(document.data)]
        if not self._replace(keys, document.data, places, ()):
            self.problems[place, f"{path.strip()} is inside a value without fields"] = None

    def _merge(self, keys: Keys, value: Any, places: Mapping[Keys, Place], given: Keys) -> bool:
        """Merges `value` into the value at `keys`; its places are those below `given`.

        Returns:
            Whether all parents of `keys` are mappings.
        """
        holder = self._holder(keys, places.get(given))
        if holder is None:
            return False
        if len(keys) == 2 and isinstance(value, dict):
            _expand_name(holder, keys)
        is_dropped = keys == ("arms",) and not value
        is_replaced = keys[-1] in REPLACED or is_dropped
        if is_replaced or not can_merge(holder.get(keys[-1]), value, keys[-1]):
            return self._replace(keys, value, places, given)
        if given in places:
            self.places[keys] = places[given]
        merged = [self._merge((*keys, k), v, places, (*given, k)) for k, v in value.items()]
        return all(merged)  # a list: items after a failure are merged as well

    def _replace(self, keys: Keys, value: Any, places: Mapping[Keys, Place], given: Keys) -> bool:
        holder = self._holder(keys, places.get(given))
        if holder is None:
            return False
        for inside in _keys_within(holder.get(keys[-1])):
            self.places.pop((*keys, *inside), None)
        holder[keys[-1]] = value
        for inside in _keys_within(value):
            if (*given, *inside) in places:
                self.places[(*keys, *inside)] = places[(*given, *inside)]
        return True

    def _holder(self, keys: Keys, place: Place | None) -> dict[Any, Any] | None:
        """The mapping that contains the last key; null if a parent is not a mapping. Missing ones
        are created at `place`."""
        holder: dict[Any, Any] = self.data
        for depth, key in enumerate(keys[:-1]):
            if depth == 1:
                _expand_name(holder, keys)
            if holder.get(key) is None:
                holder[key] = {}
            if not isinstance(holder[key], dict):
                return None
            if place:
                self.places.setdefault(keys[: depth + 1], place)
            holder = holder[key]
        return holder


def value_at(tree: Any, keys: Keys) -> Any:
    """The value at `keys` in plain data; null if there is none."""
    for key in keys:
        try:
            tree = tree[key]
        except (KeyError, TypeError, IndexError):  # an override has replaced the value
            return None
    return tree


def mentions(message: str, keys: Keys, value: Any) -> bool:
    """Whether a message contains the last key, or its value if that is text, as a word."""
    message = message.partition("known")[0]  # alternatives are not mentions
    words = [word for word in (keys[-1], value) if isinstance(word, str)]
    return any(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", message) for word in words if word)


def _expand_name(holder: dict[Any, Any], keys: Keys) -> None:
    """Replaces the name of a corpus, size or the like by its fields, to merge others into."""
    if keys[0] == "pretrain" and keys[1] in holder:
        holder.update(expand_names({str(keys[1]): holder[keys[1]]}))


def _keys_within(value: Any) -> Iterator[Keys]:
    """Keys of a value and of all values within it, relative to it."""
    yield ()
    items = value.items() if isinstance(value, dict) else ()
    for key, item in enumerate(value) if isinstance(value, list) else items:
        for keys in _keys_within(item):
            yield (key, *keys)


def _one_line(text: str) -> str:
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
