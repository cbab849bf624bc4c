"""YAML as plain data with line numbers."""

import math
import re
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from harness.experiment.yaml_reader import YamlError, parse


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-4", 1e-4),
        ("5e-5", 5e-5),
        ("1_000_000", 1_000_000),
        ("1e6", 1_000_000),
        ("1.5e3", 1_500),
        ("1.0", 1.0),
        (".5", 0.5),
        ("-3", -3),
        ("010", 10),
        ("no", "no"),
        ("on", "on"),
        ("none", "none"),
        ("null", None),
        ("~", None),
        ("", None),
        ("true", True),
        ("False", False),
        ("'1'", "1"),
        ("2020-01-01", "2020-01-01"),
        ("1:30", "1:30"),
        ("0x10", 16),
        ("!!str 1", "1"),
        ("!!float 1", 1.0),
    ],
)
def test_scalars(text: str, value: Any) -> None:
    data = parse(f"a: {text}").data["a"]
    assert data == value and type(data) is type(value)


def test_infinities_are_read() -> None:
    data = parse("[.inf, -.inf, .nan, 1e999]").data
    assert data[0] == math.inf == -data[1] == data[3] and math.isnan(data[2])


def test_lines() -> None:
    document = parse("a: 1\n\nb:\n  c:\n    - x\n    -\n      y\n  d: {e: 2,\n    f: 3}\n")
    assert document.lines == {
        (): 1,
        ("a",): 1,
        ("b",): 3,
        ("b", "c"): 4,
        ("b", "c", 0): 5,
        ("b", "c", 1): 7,
        ("b", "d"): 8,
        ("b", "d", "e"): 8,
        ("b", "d", "f"): 9,
    }


def test_a_blank_value_is_in_the_line_of_its_key() -> None:
    document = parse("a:\nb:\n  # more\n\n  c:\n# end\nd:\n  -\n  - ''\n  -\n\ne: {f: , g: }\n")
    lines = {".".join(map(str, keys)): line for keys, line in document.lines.items()}
    assert lines == {
        "": 1,
        "a": 1,
        "b": 2,
        "b.c": 5,
        "d": 7,
        "d.0": 8,
        "d.1": 9,
        "d.2": 10,
        "e": 12,
        "e.f": 12,
        "e.g": 12,
    }


def test_keys_are_text_as_written() -> None:
    assert parse("1: a\nyes: b\nnull: c").data == {"1": "a", "yes": "b", "null": "c"}


def test_a_duplicate_key_is_a_problem_and_its_first_value_is_kept() -> None:
    document = parse("a: 1\nb: 2\na: 3")
    assert document.data == {"a": 1, "b": 2}
    assert document.problems == [(3, "a is given twice, first in line 1")]


def test_merge_keys() -> None:
    text = "x: &x {a: 1, b: 2}\ny: &y {b: 3, c: 4}\nz:\n  b: 9\n  <<: [*x, *y]"
    document = parse(text)
    assert document.data["z"] == yaml.safe_load(text)["z"] == {"a": 1, "b": 9, "c": 4}
    assert (document.lines["z",], document.lines["z", "b"], document.lines["z", "a"]) == (3, 4, 1)


def test_not_yaml_has_its_line() -> None:
    with pytest.raises(YamlError, match="not YAML") as caught:
        parse("a: 1\nb: [\n")
    assert caught.value.line == 3


NUMBER = re.compile(r"[-+]?[\d_.]+e[-+]?\d+|[-+]?0o[0-7_]+", re.IGNORECASE)
"""Numbers of YAML 1.2, as read here, which PyYAML takes for text, and writes without quotes."""
text = st.text().filter(lambda text: not NUMBER.fullmatch(text))
plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False).filter(lambda x: not x.is_integer())
    | text,
    lambda inner: st.lists(inner) | st.dictionaries(text.filter(str.isprintable), inner),
    max_leaves=20,
)


@given(plain)
def test_output_of_pyyaml_is_read_back(data: Any) -> None:
    document = parse(yaml.safe_dump(data))
    assert not document.problems and document.data == data


def test_an_anchor_may_be_given_again(recwarn: pytest.WarningsRecorder) -> None:
    assert parse("a: &x 1\nb: *x\nc: &x 2\nd: *x\n").data == {"a": 1, "b": 1, "c": 2, "d": 2}
    assert not recwarn.list
