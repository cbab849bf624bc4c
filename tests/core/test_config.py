"""Counts with units, against exact arithmetic."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field, TypeAdapter

from harness.core.config import UNITS, ConfigModel, Count, deep_merge, read_count, unknown_name


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
