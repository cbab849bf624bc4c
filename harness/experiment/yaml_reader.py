"""YAML 1.2 as plain data, with the line of every value."""

import datetime
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from ruamel.yaml.reader import ReaderError

Keys = tuple[str | int, ...]
"""Path of keys and list indices from the root."""
MAX_CHARACTERS = 1_000_000
MAX_NODES = 100_000
"""Limit after aliases are expanded: a few lines of nested aliases can expand to billions."""
MAX_DEPTH = 32
INT64 = 2**63
"""Integers from here on do not fit the formats of stored results."""
TAGS = ("null", "bool", "int", "float", "str", "timestamp", "map", "seq")
"""Allowed tags."""


class YamlError(ValueError):
    """The text cannot be read as YAML."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line


@dataclass
class Document:
    """A YAML document."""

    data: Any = None
    """Plain data; null for an empty document."""
    lines: dict[Keys, int] = field(default_factory=dict)
    """Line of each value, from 1: that of the scalar, or that of the key of a mapping or list."""
    problems: list[tuple[int, str]] = field(default_factory=list)
    """(line, message) of duplicate keys, forbidden tags and integers that are too large."""


def parse(text: str) -> Document:
    """Reads one document. Keys are kept as text.

    Raises:
        YamlError: the text is not YAML, has more than one document, or is too large.
    """
    if len(text) > MAX_CHARACTERS:
        raise YamlError(1, f"the file must have at most {MAX_CHARACTERS:,} characters")
    reader = _Reader()
    try:
        root = reader.yaml.compose(text)
        if root is not None:
            reader.document.data = reader.read(root, (), 1)
    except ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise YamlError(line, f"not YAML: {error.reason}") from error
    except MarkedYAMLError as error:
        raise _not_yaml(error) from error
    except RecursionError as error:
        raise YamlError(1, f"values are nested deeper than {MAX_DEPTH} levels") from error
    return reader.document


class _Reader:
    """Converts the nodes of ruamel.yaml to plain data."""

    def __init__(self) -> None:
        self.yaml = YAML(typ="safe", pure=True)
        self.yaml.composer.warn_double_anchors = False  # YAML 1.2 has the last one count
        self.document = Document()
        self._num_nodes = 0

    def read(self, node: Node, keys: Keys, key_line: int) -> Any:
        """The data of the node at `keys`, whose key is in `key_line`."""
        line = _line(node) if isinstance(node, ScalarNode) and not _is_blank(node) else key_line
        self.document.lines[keys] = line
        self._num_nodes += 1
        if len(keys) > MAX_DEPTH:  # also for an alias that contains itself
            raise YamlError(line, f"values are nested deeper than {MAX_DEPTH} levels")
        if self._num_nodes > MAX_NODES:
            raise YamlError(line, f"with its aliases the file has over {MAX_NODES:,} values")
        if _tag(node) not in TAGS:
            self._report(line, f"the tag {_tag(node)!r} is not allowed; write the plain value")
        if isinstance(node, MappingNode):
            pairs = dict(self._pairs(node, keys))
            return {key: self.read(item, (*keys, key), line) for key, (line, item) in pairs.items()}
        if isinstance(node, SequenceNode):
            items = enumerate(node.value)
            return [self.read(item, (*keys, index), _line(item)) for index, item in items]
        return self._scalar(node, line)

    def _pairs(self, node: MappingNode, keys: Keys) -> Iterator[tuple[str, tuple[int, Node]]]:
        """(key, (line, value)) of each pair; pairs merged by `<<` come first."""
        self.yaml.constructor.flatten_mapping(node)
        num_merged = len(node.merge or ())
        first: dict[str, int] = {}
        for index, (key, value) in enumerate(node.value):
            line = _line(key)
            if not isinstance(key, ScalarNode) or not key.value.isprintable():
                self._report(line, "a key must be a name of printable characters")
            elif index >= num_merged and key.value in first:
                name = ".".join(map(str, (*keys, key.value)))
                self._report(line, f"{name} is given twice, first in line {first[key.value]}")
            else:
                if index >= num_merged:
                    first[key.value] = line
                yield key.value, (line, value)

    def _scalar(self, node: Any, line: int) -> Any:
        if _tag(node) not in TAGS:
            return node.value
        try:
            value = self.yaml.constructor.construct_object(node)
            str(value).encode()
        except (ValueError, KeyError):  # a tag that does not fit the text, or a lone surrogate
            self._report(line, f"{_short(node.value)} cannot be read as {_tag(node)}")
            return None
        if isinstance(value, datetime.date):
            return node.value
        exponent = _tag(node) == "float" and "e" in node.value.lower()
        if exponent and value.is_integer() and abs(value) < INT64:
            value = int(value)  # a budget of 1e6 tokens
        if isinstance(value, int) and not -INT64 <= value < INT64:
            self._report(line, f"integers must fit in 64 bits, but {_short(node.value)} does not")
        return value

    def _report(self, line: int, message: str) -> None:
        self.document.problems.append((line, message))


def _line(node: Node) -> int:
    return int(node.start_mark.line) + 1


def _is_blank(node: ScalarNode) -> bool:
    """Whether nothing is written; its mark is that of what follows, perhaps lines below."""
    return bool(node.start_mark.index == node.end_mark.index)


def _tag(node: Node) -> str:
    return str(node.tag).removeprefix("tag:yaml.org,2002:")


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:37] + "...")


def _not_yaml(error: MarkedYAMLError) -> YamlError:
    mark = error.problem_mark or error.context_mark
    message = ", ".join(part for part in (error.context, error.problem) if part)
    hint = " (indent with spaces, not tabs)" if "\\t" in message else ""
    return YamlError(mark.line + 1 if mark else 1, f"not YAML: {message}{hint}")
