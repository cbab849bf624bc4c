"""Counts with units, against exact arithmetic."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field, TypeAdapter

from harness.core.config import (
    UNITS,
    ConfigModel,
    Count,
    as_declared,
    deep_merge,
    near_name,
    read_count,
    set_path,
    unknown_name,
)


@given(st.integers(0, 10**6), st.integers(0, 3), st.sampled_from(sorted(UNITS)))
def test_a_count_with_a_unit_is_exact(digits: int, decimals: int, unit: str) -> None:
    whole, rest = divmod(digits, 10**decimals)
    text = f"{whole}.{rest:0{decimals}}{unit}" if decimals else f"{whole}{unit}"
    assert read_count(text) == Fraction(digits, 10**decimals) * UNITS[unit]


@pytest.mark.parametrize("other", ["1.2345k", "M", "1m", "-1k", "1 M", "1e3k", ".5M", 3, None, "a"])
def test_other_values_stay(other: object) -> None:
    assert read_count(other) == other


def test_text_is_no_count() -> None:
    with pytest.raises(ValueError, match="valid integer"):
        TypeAdapter(Count).validate_python("300", strict=True)


def test_another_kind_replaces_a_mapping_but_an_optimizer() -> None:
    base = {"kind": "a", "x": 1}
    for field, merged in (("transform", {"kind": "b"}), ("optimizer", {"kind": "b", "x": 1})):
        assert deep_merge({field: base}, {field: {"kind": "b"}}) == {field: merged}
        assert deep_merge({field: base}, {field: {"y": 2}}) == {field: {**base, "y": 2}}


def test_a_field_at_a_path_leaves_the_others() -> None:
    inner = {"b": {"c": 1, "d": 2}, "e": 3}
    tree = {"a": inner, "f": 4}
    assert set_path(tree, "a.b.c", 5) == {"a": {"b": {"c": 5, "d": 2}, "e": 3}, "f": 4}
    assert set_path(tree, "f.g", 5) == {**tree, "f": {"g": 5}}
    assert set_path(tree, "a", {"e": 5}) == {"a": {**inner, "e": 5}, "f": 4}
    assert tree == {"a": {"b": {"c": 1, "d": 2}, "e": 3}, "f": 4}


def test_a_kind_is_declared_even_if_it_is_the_default() -> None:
    class Source(ConfigModel):
        source: str = "text"
        path: str = ""
        other: int = 0

    declared = {"one": Source(path="a"), "more": [Source()]}
    assert as_declared(declared) == {
        "one": {"source": "text", "path": "a"},
        "more": [{"source": "text"}],
    }


def test_names_of_other_tools_are_suggested_where_they_are_known() -> None:
    assert near_name("lr", ["learning_rate", "l2"]) == "did you mean 'learning_rate'? "
    assert near_name("lr", ["rate"]) == ""
    many = [f"name {number}" for number in range(300)]
    assert unknown_name("x", "y", many).endswith("name 199 and 100 others")
    assert unknown_name("x", "nane 7", many).endswith("name 24 and 275 others")


class Weights(ConfigModel):
    """Settings as a plug-in may have them."""

    weights: dict[str, float] = Field(default_factory=dict)
    names: list[str] = Field(default_factory=list)


def test_equal_values_have_equal_hashes() -> None:
    first = Weights(weights={"a": 1, "b": 2}, names=["x"])
    second = Weights(weights={"b": 2, "a": 1}, names=["x"])
    assert first == second and hash(first) == hash(second)
    assert len({first, second, Weights()}) == 2


def test_a_name_in_another_case_is_suggested() -> None:
    assert "did you mean 'RTE'? " in unknown_name("the column", "rte", ["CoLA", "SST-2", "RTE"])
    assert "did you mean" not in unknown_name("the column", "rte", ["CoLA", "SST-2"])
