"""Tests of pairs against statsmodels, scipy, loops and the exact floors of few pairs."""

from itertools import product

import numpy as np
import pytest
import scipy.stats
from statsmodels.stats.contingency_tables import mcnemar as statsmodels_mcnemar

from harness.analysis.statistics.paired_tests import (
    EXACT_PAIRS,
    almost_stochastic_order,
    mcnemar,
    sign_flip,
    violation_ratio,
)


def flip(first, second, permutations=1000, seed=0):
    return sign_flip(
        np.asarray(first), np.asarray(second), permutations, np.random.default_rng(seed)
    )


def test_mcnemar_as_statsmodels_does():
    rng = np.random.default_rng(0)
    first, second = rng.random((2, 60)) < [[0.8], [0.6]]
    table = [[np.sum((first == i) & (second == j)) for j in (1, 0)] for i in (1, 0)]
    theirs = statsmodels_mcnemar(table, exact=True).pvalue
    assert mcnemar(first, second).p_value == pytest.approx(theirs)


def test_mcnemar_by_hand():
    """Three disagreements, all for the first: 2 / 2^3, and no fewer could be had of three."""
    first, second = np.array([1, 1, 1, 1, 0]), np.array([0, 0, 0, 1, 0])
    found = mcnemar(first, second)
    assert (found.p_value, found.floor) == (0.25, 0.25)
    same = mcnemar(first, first)
    assert (same.p_value, same.floor) == (1.0, 1.0)


@pytest.mark.parametrize(("pairs", "floor"), [(5, 0.0625), (8, 0.0078125)])
def test_floor_of_few_pairs(pairs, floor):
    found = flip(np.arange(1.0, pairs + 1), np.zeros(pairs))
    assert found.exact
    assert (found.p_value, found.floor) == (floor, floor)


def test_equal_pairs_raise_the_floor():
    """A difference of zero has no sign to flip."""
    found = flip([1.0, 2.0, 0.0], [0.0, 0.0, 0.0])
    assert (found.p_value, found.floor) == (0.5, 0.5)
    assert flip([0.3] * 4, [0.3] * 4).floor == 1


def test_sign_flip_by_loops_and_scipy():
    rng = np.random.default_rng(1)
    first, second = rng.normal(0.4, 1, 9), rng.normal(0, 1, 9)
    gaps = first - second
    means = [abs(np.mean(gaps * signs)) for signs in product((1, -1), repeat=9)]
    expected = np.mean([mean >= abs(gaps.mean()) - 1e-12 for mean in means])
    found = flip(first, second)
    assert found.p_value == pytest.approx(expected)
    theirs = scipy.stats.permutation_test(
        (first, second), lambda a, b: np.mean(a - b), permutation_type="samples", n_resamples=np.inf
    )
    assert found.p_value == pytest.approx(theirs.pvalue)


def test_drawn_signs_come_close_to_all_of_them(monkeypatch):
    rng = np.random.default_rng(2)
    first, second = rng.normal(0.4, 1, 12), rng.normal(0, 1, 12)
    exact = flip(first, second)
    monkeypatch.setattr("harness.analysis.statistics.paired_tests.EXACT_PAIRS", 0)
    drawn = flip(first, second, 20_000)
    assert drawn.p_value == pytest.approx(exact.p_value, abs=0.01)
    assert not drawn.exact
    assert drawn.floor == 1 / 20_001
    assert flip(first, second, 500, 1) == flip(first, second, 500, 1)
    assert flip(first, second, 500, 1) != flip(first, second, 500, 2)


def test_drawn_signs_in_chunks_follow_one_stream(monkeypatch):
    first = np.random.default_rng(3).normal(0.2, 1, EXACT_PAIRS + 4)
    whole = flip(first, np.zeros_like(first))
    monkeypatch.setattr("harness.analysis.statistics.bootstrap.CHUNK", 7 * len(first))
    assert flip(first, np.zeros_like(first)) == whole


def test_sign_flip_keeps_its_level():
    rng = np.random.default_rng(4)
    p_values = [flip(*rng.standard_normal((2, 8))).p_value for _ in range(1000)]
    assert np.mean(np.array(p_values) <= 0.05) == pytest.approx(0.05, abs=0.02)


@pytest.mark.parametrize("other", [[1.0], [], [[1.0, 2.0]]])
def test_pairs_must_match(other):
    for test in (mcnemar, flip):
        with pytest.raises(ValueError, match="equal length"):
            test(np.array([1.0, 2.0]), np.array(other))


def test_pairs_must_be_finite():
    """A comparison with NaN is false: p would be 0."""
    with pytest.raises(ValueError, match="second must be finite, but 1 of 2 are not"):
        flip([1.0, 2.0], [1.0, np.nan])
    with pytest.raises(ValueError, match="first must be finite"):
        order([1.0, np.inf], [1.0])


def order(first, second, seed=0, replicates=200):
    rng = np.random.default_rng(seed)
    return almost_stochastic_order(
        np.asarray(first), np.asarray(second), rng, num_replicates=replicates
    )


def test_violation_ratio_by_hand():
    """Quantiles 0 and 3 against 1 and 2: below by 1 in the lower half, above by 1 in the upper."""
    assert violation_ratio(np.array([0.0, 3.0]), np.array([1.0, 2.0])) == pytest.approx(
        100 / 199
    )  # the lower half has 100 of the grid's 199 levels
    assert violation_ratio(np.array([2.0, 3.0]), np.array([0.0, 1.0])) == 0
    assert violation_ratio(np.array([0.0, 1.0]), np.array([2.0, 3.0])) == 1
    assert violation_ratio(np.array([1.0]), np.array([1.0])) == 0.5


def test_violation_ratio_against_numpy_quantiles():
    rng = np.random.default_rng(0)
    first, second = rng.normal(0.3, 1, 7), rng.normal(0, 1, 11)
    levels = (np.arange(1, 200) - 1e-6) / 200  # just below the steps of the grid
    gaps = np.subtract(
        *(np.quantile(sample, levels, method="inverted_cdf") for sample in (first, second))
    )
    expected = np.sum(np.minimum(gaps, 0) ** 2) / np.sum(gaps**2)
    assert violation_ratio(first, second) == pytest.approx(expected)


def test_order_is_sure_where_all_is_above_and_says_so():
    rng = np.random.default_rng(0)
    high, low = rng.normal(5, 1, 20), rng.normal(0, 1, 20)
    assert order(high, low) == 0
    assert order(low, high) == 1
    assert order(low, low) >= 0.5


def test_bound_lies_above_the_ratio_and_falls_with_more_runs():
    rng = np.random.default_rng(1)
    first, second = rng.normal(0.8, 1, 200), rng.normal(0, 1, 200)
    few, many = order(first[:10], second[:10]), order(first, second)
    assert many >= violation_ratio(first, second)
    assert many < few


def test_bound_is_that_of_loops():
    """Dror et al. 2019, equation 8, with the violations of resamples from numpy's quantiles."""
    rng = np.random.default_rng(5)
    first, second = rng.normal(0.5, 1, 12), rng.normal(0, 1, 9)
    levels = (np.arange(1, 200) - 1e-6) / 200

    def violation(one, other):
        gaps = [np.quantile(sample, levels, method="inverted_cdf") for sample in (one, other)]
        return np.sum(np.minimum(gaps[0] - gaps[1], 0) ** 2) / np.sum((gaps[0] - gaps[1]) ** 2)

    scale = np.sqrt(12 * 9 / (12 + 9))
    drawn = [violation(rng.choice(first, 12), rng.choice(second, 9)) for _ in range(1500)]
    sigma = np.std(scale * (np.array(drawn) - violation(first, second)))
    expected = violation(first, second) + 1.6449 * sigma / scale
    assert order(first, second, replicates=1500) == pytest.approx(expected, abs=0.02)


def test_order_repeats_for_equal_generators_only():
    rng = np.random.default_rng(2)
    first, second = rng.normal(0.3, 1, 10), rng.normal(0, 1, 10)
    assert order(first, second, 1) == order(first, second, 1)
    assert order(first, second, 1) != order(first, second, 2)


def test_order_needs_runs():
    with pytest.raises(ValueError, match="at least one run"):
        order([], [1.0])
