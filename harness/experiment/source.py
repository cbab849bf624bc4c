"""An experiment file as data, with the place of every value, and the problems found in it."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from harness.experiment.messages import shown
from harness.experiment.named_values import expand_names
from harness.experiment.yaml_reader import Keys, YamlError, parse

AFTER_ALL_LINES = 2**31


class DeclarationError(ValueError):
    """An experiment that cannot be run: each problem in a line, `file:line: what is wrong`."""

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(_one_line(problem) for problem in problems)
        super().__init__("\n".join(self.problems))


@dataclass(frozen=True)
class Place:
    """Where a value was given: a line of the file, or an override."""

    line: int
    text: str


@dataclass
class Source:
    """What the user wrote."""

    path: Path
    data: Any = None
    places: dict[Keys, Place] = field(default_factory=dict)
    problems: dict[tuple[Place, str], None] = field(default_factory=dict)
    """An ordered set."""
    num_overrides: int = 0

    @classmethod
    def parse(cls, path: Path, text: str) -> "Source":
        """The file's data; a problem for each key given twice and the like.

        Raises:
            DeclarationError: it is not YAML, or not a mapping.
        """
        source = cls(path)
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
        return Place(line, f"{self.path}:{line}")

    def place(self, keys: Keys) -> Place:
        """Where the value at `keys` was given, or the innermost value around it."""
        while keys not in self.places:
            keys = keys[:-1]
        return self.places[keys]

    def report(self, keys: Keys, message: str) -> None:
        """Notes a problem with the value at `keys`."""
        self.problems[self.place(keys), message] = None

    def raise_problems(self) -> None:
        """Ends the reading if there was any problem.

        Raises:
            DeclarationError: with all of them, in the order of the file.
        """
        if self.problems:
            ordered = sorted(self.problems, key=lambda problem: problem[0].line)
            raise DeclarationError([f"{place.text}: {message}" for place, message in ordered])

    def mentioned(self, keys: Keys, message: str) -> Keys:
        """The innermost value within `keys` that the message names or quotes; else `keys`."""
        inside = [below for below in self.places if below[: len(keys)] == keys and below != keys]
        found = [below for below in inside if mentions(message, below, self._value(below))]
        return max(found, key=len, default=keys)

    def set(self, override: str) -> None:
        """Puts the value of `path=value` in place of what the file says."""
        self.num_overrides += 1
        place = Place(AFTER_ALL_LINES + self.num_overrides, f"--set {override.strip()}")
        path, equals, text = override.partition("=")
        if not equals or not path.strip():
            self.problems[place, "an override reads path=value, such as seeds.pretrain=3"] = None
            return
        try:
            document = parse(text)
        except YamlError as error:
            self.problems[place, str(error)] = None
            return
        self.problems |= {(place, message): None for _, message in document.problems}
        keys = _split(path.strip())
        holder = self._holder(keys)
        if holder is None:
            self.problems[place, f"{path.strip()} lies within a single value"] = None
            return
        holder[keys[-1]] = document.data
        self._move(keys, document.lines, place)

    def _holder(self, keys: Keys) -> dict[Any, Any] | None:
        """The mapping that holds the last of `keys`, made where there is none."""
        holder: dict[Any, Any] = self.data
        for depth, key in enumerate(keys[:-1]):
            if depth == 1 and keys[0] == "pretrain":  # a name gives way to the value it stands for
                holder.update(expand_names(holder))
            if holder.get(key) is None:
                holder[key] = {}
            if not isinstance(holder[key], dict):
                return None
            holder = holder[key]
        return holder

    def _move(self, keys: Keys, lines: Mapping[Keys, int], place: Place) -> None:
        """Gives `keys` and what lies in it a new place."""
        kept = {k: old for k, old in self.places.items() if k[: len(keys)] != keys}
        above = {keys[:depth]: place for depth in range(1, len(keys)) if keys[:depth] not in kept}
        self.places = {**kept, **above, keys: place, **{(*keys, *k): place for k in lines}}

    def _value(self, keys: Keys) -> Any:
        value = self.data
        for key in keys:
            try:
                value = value[key]
            except (KeyError, TypeError, IndexError):  # an override put another value here
                return None
        return value


def mentions(message: str, keys: Keys, value: Any) -> bool:
    """Whether a message has the last of `keys`, or a text that it holds, as a word."""
    message = message.partition("known")[0]  # what could have been given is not what was
    words = [keys[-1]] if isinstance(keys[-1], str) else []
    words += [value] if isinstance(value, str) else []
    return any(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", message) for word in words if word)


def read_text(path: Path) -> str:
    """The text of an experiment file.

    Raises:
        DeclarationError: there is no such file, or it is not UTF-8.
    """
    if path.is_dir():
        found = ", ".join(sorted(file.name for file in path.glob("*.yaml"))) or "none"
        raise DeclarationError([f"{path} is a folder; name an experiment file in it: {found}"])
    if not path.is_file():
        raise DeclarationError([f"{path}: there is no such file{_near_file(path)}"])
    try:
        data = path.read_bytes()
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DeclarationError([f"{path}:{line}: the file must be UTF-8 text"]) from error
    except OSError as error:
        raise DeclarationError([f"{path}: cannot be read: {error.strerror}"]) from error


def _near_file(path: Path) -> str:
    names = [file.name for file in path.parent.glob("*.yaml")]
    near = get_close_matches(path.name, names, n=1)
    return f"; did you mean {path.parent / near[0]}?" if near else ""


def _split(path: str) -> Keys:
    """The keys of a dotted path; a dotted axis of the grid is one key."""
    head, _, rest = path.partition(".")
    return (head, rest) if head == "grid" and rest else tuple(path.split("."))


def _one_line(text: str) -> str:
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
