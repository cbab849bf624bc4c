"""Counts with units, against exact arithmetic."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from harness.core.config import UNITS, Count, read_count


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
