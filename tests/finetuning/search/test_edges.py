"""Which values lie on the edge of what a search tried."""

import math

import pytest

from harness.finetuning.search.edges import at_edge, has_edge
from harness.finetuning.search.space import Choice, Range

RATES = Range(low=1e-4, high=1e-2, log=True)


@pytest.mark.parametrize(
    ("value", "edge"),
    [(1e-2, True), (1.2e-4, True), (1e-4 * 10 ** (2 * 0.11), False), (math.sqrt(1e-6), False)],
)
def test_the_outer_tenths_of_a_range(value: float, edge: bool) -> None:
    assert has_edge(RATES) and at_edge(RATES, value) is edge


def test_nothing_lies_below_zero() -> None:
    dropout = Range(low=0, high=0.5)
    assert [at_edge(dropout, value) for value in (0, 0.01, 0.3, 0.49)] == [False] * 3 + [True]
    assert [at_edge((0.0, 0.1, 0.2), value) for value in (0.0, 0.1, 0.2)] == [False, False, True]


def test_the_least_and_largest_of_three_choices() -> None:
    assert [at_edge((8, 4, 16), size) for size in (4, 8, 16)] == [True, False, True]
    assert [at_edge((1, 2, 3), epochs) for epochs in (1, 2, 3)] == [True, False, True]


@pytest.mark.parametrize(
    "tried", [(0.1, 0.2), (5,), ("linear", "cosine", "constant"), (True, False), (1, 2, "auto")]
)
def test_choices_without_an_inside_have_no_edge(tried: tuple[Choice, ...]) -> None:
    assert not has_edge(tried) and not any(at_edge(tried, value) for value in tried)
