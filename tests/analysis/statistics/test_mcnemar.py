"""McNemar's test against statsmodels, by hand, and at its floor."""

import numpy as np
import pytest
from statsmodels.stats.contingency_tables import mcnemar as statsmodels_mcnemar

from harness.analysis.statistics.mcnemar import mcnemar


@pytest.mark.parametrize("seed", range(5))
def test_equals_statsmodels(seed):
    rng = np.random.default_rng(seed)
    first, second = rng.random((2, 60)) < [[0.8], [0.6]]
    table = [[np.sum((first == i) & (second == j)) for j in (1, 0)] for i in (1, 0)]
    expected = statsmodels_mcnemar(table, exact=True).pvalue
    assert mcnemar(first, second).p_value == pytest.approx(expected)


def test_three_discordant_pairs_by_hand():
    """All three for the first model: 2 / 2^3, which is also the floor."""
    first, second = np.array([1, 1, 1, 1, 0]), np.array([0, 0, 0, 1, 0])
    found = mcnemar(first, second)
    assert (found.p_value, found.floor) == (0.25, 0.25)


def test_one_discordant_pair_cannot_be_significant():
    found = mcnemar(np.array([1, 1]), np.array([0, 1]))
    assert (found.p_value, found.floor) == (1.0, 1.0)


def test_equal_answers():
    found = mcnemar(np.array([1, 0]), np.array([1, 0]))
    assert (found.p_value, found.floor) == (1.0, 1.0)


@pytest.mark.parametrize("other", [[1.0], [], [[1.0, 2.0]]])
def test_lengths_must_be_equal(other):
    with pytest.raises(ValueError, match="equal length"):
        mcnemar(np.array([1.0, 2.0]), np.array(other))


def test_empty_lists_are_refused():
    with pytest.raises(ValueError, match="equal length"):
        mcnemar(np.array([]), np.array([]))


def test_values_must_be_finite():
    """NaN counts as right in a Boolean array."""
    with pytest.raises(ValueError, match="second must be finite, but 1 of 2 are not"):
        mcnemar(np.array([1.0, 0.0]), np.array([1.0, np.nan]))
    with pytest.raises(ValueError, match="first must be finite"):
        mcnemar(np.array([1.0, np.inf]), np.array([1.0, 0.0]))
