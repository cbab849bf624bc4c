"""Adjusted p-values against statsmodels and published small cases; ranks with ties by hand."""

import numpy as np
import pytest
from statsmodels.stats.multitest import multipletests

from harness.analysis.statistics.multiple_testing import benjamini_hochberg, holm, tie_groups

P_VALUES = [0.001, 0.008, 0.039, 0.041, 0.042, 0.06]


def test_adjusted_by_hand():
    assert holm(P_VALUES) == pytest.approx([0.006, 0.04, 0.156, 0.156, 0.156, 0.156])
    found = benjamini_hochberg(P_VALUES)
    assert found == pytest.approx([0.006, 0.024, 0.0504, 0.0504, 0.0504, 0.06])


@pytest.mark.parametrize("size", [2, 3, 7, 40])
def test_adjusted_as_statsmodels_does(size):
    p_values = np.random.default_rng(size).choice([0.001, 0.01, 0.02, 0.3, 1.0], size)  # with ties
    assert holm(p_values) == pytest.approx(multipletests(p_values, method="holm")[1])
    assert benjamini_hochberg(p_values) == pytest.approx(
        multipletests(p_values, method="fdr_bh")[1]
    )


def test_one_p_value_is_its_own_and_none_stay_none():
    for adjust in (holm, benjamini_hochberg):
        assert adjust([0.03]) == pytest.approx([0.03])
        assert len(adjust([])) == 0


@pytest.mark.parametrize("adjust", [holm, benjamini_hochberg])
@pytest.mark.parametrize("bad", [[0.1, 1.2], [-0.1], [float("nan")], [[0.1, 0.2]]])
def test_what_is_no_p_value_is_refused(adjust, bad):
    with pytest.raises(ValueError, match="numbers from 0 to 1"):
        adjust(bad)


def test_holm_keeps_the_chance_of_one_false_claim():
    """Of families of 20 true nulls 5 % have a p-value below 0.05 once adjusted, 64 % before."""
    families = np.random.default_rng(0).random((2000, 20))
    assert np.mean([holm(family).min() < 0.05 for family in families]) < 0.065
    assert np.mean(families.min(axis=1) < 0.05) > 0.6


def test_benjamini_hochberg_keeps_the_share_of_false_finds():
    rng = np.random.default_rng(0)
    shares = []
    for _ in range(1000):
        family = np.concatenate([rng.random(30), rng.beta(0.05, 4, 10)])
        found = benjamini_hochberg(family) < 0.1
        shares.append(found[:30].sum() / max(1, found.sum()))
    assert np.mean(shares) < 0.1


def separable_by(values, gap):
    values = np.asarray(values)
    return np.abs(values[:, None] - values[None, :]) > gap


def test_tie_groups_by_hand():
    values = [70.0, 80.0, 79.5, 70.4, 78.9]
    ranks = tie_groups(values, separable_by(values, 1.0))
    # 78.9 is within 1.0 of 79.5, but not of the best of the first group.
    assert ranks.tolist() == [3, 1, 1, 3, 2]


def test_missing_values_have_no_rank():
    values = [1.0, float("nan"), 3.0]
    ranks = tie_groups(values, separable_by(values, 0.5))
    assert ranks[[0, 2]].tolist() == [2, 1]
    assert np.isnan(ranks[1])


def test_tie_groups_at_the_ends():
    values = [3.0, 1.0, 2.0]
    assert tie_groups(values, separable_by(values, 0.0)).tolist() == [1, 3, 2]
    assert tie_groups(values, separable_by(values, 9.0)).tolist() == [1, 1, 1]
    assert len(tie_groups([], np.zeros((0, 0)))) == 0


@pytest.mark.parametrize("separable", [np.zeros((2, 2)), np.triu(np.ones((3, 3)), 1)])
def test_separable_must_be_symmetric(separable):
    with pytest.raises(ValueError, match="symmetric"):
        tie_groups([1.0, 2.0, 3.0], separable)
