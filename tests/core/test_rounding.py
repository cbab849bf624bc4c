"""Sums and printed numbers against exact fractions."""

import math
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest

from harness.core.rounding import one_decimal, steady, total


def test_means_of_equal_numbers_do_not_differ() -> None:
    rng, noisy = np.random.default_rng(0), 0
    for score in [*rng.uniform(0, 1, 30), *rng.uniform(0, 100, 30), 1e5 / 3]:
        for first, second in [(7, 3), (7, 5), (6, 3)]:
            terms = np.full(first, score).mean(), -np.full(second, score).mean()
            noisy += sum(terms) != 0
            assert total(terms) == 0.0
    assert noisy  # else nothing was tested


@pytest.mark.parametrize(
    ("terms", "kept"),
    [
        ((0.3, -0.3 + 2e-12), True),
        ((0.3, -0.3 + 5e-13), False),
        ((3e4, -3e4 + 1e-6), True),  # a relative size of 3e-11
        ((3e4, -3e4 + 1e-8), False),
        ((-3e4, 3e4 - 1e-6), True),
        ((-3e4, 1e4, 1e4, 1e4 - 2e-8), False),  # of the largest, whatever its sign
        ((1e-9,), True),
    ],
)
def test_what_is_more_than_rounding_errors_stays(terms: tuple[float, ...], kept: bool) -> None:
    exact = float(sum(map(Fraction, terms)))
    assert total(terms) == (pytest.approx(exact, rel=1e-3) if kept else 0.0)


def test_the_order_of_scores_changes_no_printed_digit() -> None:
    """The mean is 2.35, but sums in another order are a little less."""
    scores = ("4.09", "0.02", "2.94")
    assert sum(map(Fraction, scores)) / 3 == Fraction("2.35")
    means = {sum(map(float, order)) / 3 for order in permutations(scores)}
    assert len({f"{one:.1f}" for one in means}) == 2  # else nothing is tested
    assert len({steady(one) for one in means}) == len({one_decimal(one) for one in means}) == 1


@pytest.mark.parametrize("value", [0.0, 1.23456789012, -4.2, 1e-7, 123456.789012, 2 / 3, 5e300])
def test_twelve_digits_are_kept(value: float) -> None:
    assert steady(value) == pytest.approx(value, rel=5e-12, abs=0)
    assert math.isnan(steady(math.nan)) and steady(math.inf) == math.inf


def test_a_minus_sign_is_that_of_differences() -> None:
    assert [one_decimal(one) for one in (84.56, -1.26, 0.0)] == ["84.6", "−1.3", "0.0"]
