"""YAML text as plain data, with the line of every value.

Scalars are those of YAML 1.2 (`no` and `on` are text, `1e-4` is a number) and `1_000_000`. A key
may stand once in its mapping; tags that would make other objects are refused.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

Keys = tuple[str | int, ...]
"""Keys and list indices from the root."""
MAX_CHARACTERS = 1_000_000
MAX_NODES = 100_000
"""Values after aliases are followed: a few lines of nested aliases can stand for billions."""
MAX_DEPTH = 32
INT64 = 2**63  # what the formats that store results can hold
STANDARD = "tag:yaml.org,2002:"
MERGE = STANDARD + "merge"


class YamlError(ValueError):
    """The text cannot be read as YAML."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line


@dataclass(frozen=True)
class Document:
    """A YAML document."""

    data: Any
    """None if it is empty."""
    lines: Mapping[Keys, int]
    """Where each value stands, from 1: a scalar's own line; for a mapping or list its key's."""
    problems: Sequence[tuple[int, str]]
    """(line, message): a key given twice, a tag that is not allowed, ..."""


def parse(text: str) -> Document:
    """Reads one document.

    Raises:
        YamlError: not YAML, more than one document, or too large.
    """
    if len(text) > MAX_CHARACTERS:
        raise YamlError(1, f"the file must have at most {MAX_CHARACTERS:,} characters")
    reader = _Reader()
    try:
        root = _Loader(text).get_single_node()
        data = None if root is None else reader.read(root, (), 1)
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise YamlError(line, f"not YAML: {error.reason}") from error
    except yaml.MarkedYAMLError as error:
        raise _not_yaml(error) from error
    except RecursionError as error:
        raise YamlError(1, f"values are nested deeper than {MAX_DEPTH} levels") from error
    return Document(data, reader.lines, reader.problems)


class _Loader(yaml.SafeLoader):
    """PyYAML's parser with the scalars of YAML 1.2."""


_Loader.yaml_implicit_resolvers = {}

for _name, _pattern, _first in (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?[0-9][0-9_]*", list("-+0123456789")),
    (
        "float",
        r"[-+]?(\.[0-9]+|[0-9][0-9_]*(\.[0-9_]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)"
        r"|\.(nan|NaN|NAN)",
        list("-+0123456789."),
    ),
    ("merge", "<<", ["<"]),
):
    _Loader.add_implicit_resolver(STANDARD + _name, re.compile(f"^(?:{_pattern})$"), _first)


class _Reader:
    """Turns nodes into data; collects lines and problems."""

    def __init__(self) -> None:
        self.lines: dict[Keys, int] = {}
        self.problems: list[tuple[int, str]] = []
        self._num_nodes = 0

    def read(self, node: yaml.Node, keys: Keys, key_line: int) -> Any:
        line = _line(node) if isinstance(node, yaml.ScalarNode) else key_line
        self.lines[keys] = line
        self._num_nodes += 1
        if len(keys) > MAX_DEPTH:  # an alias may also hold itself
            raise YamlError(line, f"values are nested deeper than {MAX_DEPTH} levels")
        if self._num_nodes > MAX_NODES:
            raise YamlError(line, f"with its aliases the file has over {MAX_NODES:,} values")
        if node.tag.removeprefix(STANDARD) not in _KINDS:
            self.problems.append(
                (line, f"the tag {_tag(node)} is not allowed; write the plain value")
            )
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, keys)
        if isinstance(node, yaml.SequenceNode):
            items = enumerate(node.value)
            return [self.read(item, (*keys, index), _line(item)) for index, item in items]
        assert isinstance(node, yaml.ScalarNode)  # there is no fourth kind
        return self._scalar(node, line)

    def _mapping(self, node: yaml.MappingNode, keys: Keys) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for key, value in node.value:
            if key.tag == MERGE:
                out = {**self._merged(value, keys, _line(key)), **out}
        seen: dict[str, int] = {}
        for key, value in node.value:
            line = _line(key)
            if key.tag == MERGE:
                continue
            if not isinstance(key, yaml.ScalarNode) or not key.value.isprintable():
                self.problems.append((line, "a key must be a name of printable characters"))
            elif key.value in seen:
                name = ".".join(map(str, (*keys, key.value)))
                first = seen[key.value]
                self.problems.append((line, f"{name} is given twice, first in line {first}"))
            else:
                seen[key.value] = line
                out[key.value] = self.read(value, (*keys, key.value), line)
        return out

    def _merged(self, node: yaml.Node, keys: Keys, line: int) -> dict[str, Any]:
        """What `<<` brings in: one mapping, or a list of which the first to have a key gives it."""
        here = self.lines[keys]
        items = node.value if isinstance(node, yaml.SequenceNode) else [node]
        out: dict[str, Any] = {}
        for item in reversed(items):
            if not isinstance(item, yaml.MappingNode):
                self.problems.append((line, "'<<' takes mappings, such as '<<: *anchor'"))
                break
            out |= self.read(item, keys, line)
        self.lines[keys] = here
        return out

    def _scalar(self, node: yaml.ScalarNode, line: int) -> Any:
        kind = node.tag.removeprefix(STANDARD)
        try:
            value = _SCALARS.get(kind, str)(node.value)
            str(value).encode()
        except ValueError:  # an explicit tag on something else, endless digits, half a character
            self.problems.append((line, f"{_short(node.value)} cannot be read as {kind}"))
            return None
        if isinstance(value, int) and not -INT64 <= value < INT64:
            self.problems.append(
                (line, f"whole numbers must fit in 64 bits, but {_short(node.value)} does not")
            )
        return value


def _number(text: str) -> float | int:
    """`1e6` is a whole number, as a budget of tokens is written; `1.0` and `5e-5` are not."""
    value = float(text.replace("_", "").lower().replace(".inf", "inf").replace(".nan", "nan"))
    whole = "e" in text.lower() and value.is_integer() and abs(value) < INT64
    return int(value) if whole else value


_SCALARS: dict[str, Callable[[str], Any]] = {
    "null": lambda text: None,
    "bool": lambda text: text.lower() == "true",
    "int": lambda text: int(text.replace("_", "")),
    "float": _number,
    "str": str,
}
_KINDS = (*_SCALARS, "map", "seq", "merge")


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1


def _tag(node: yaml.Node) -> str:
    return repr(node.tag.replace(STANDARD, "!!"))


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:37] + "...")


def _not_yaml(error: yaml.MarkedYAMLError) -> YamlError:
    mark = error.problem_mark or error.context_mark
    told = ", ".join(part for part in (error.context, error.problem) if part)
    hint = " (indent with spaces, not tabs)" if "\\t" in told else ""
    return YamlError(mark.line + 1 if mark else 1, f"not YAML: {told}{hint}")
