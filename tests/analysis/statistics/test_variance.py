"""Variance components and power against statsmodels, scipy, simulation and hand computation."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
import scipy.stats
import statsmodels.formula.api as smf
from statsmodels.stats.power import TTestIndPower, TTestPower

from harness.analysis.statistics.variance import (
    Components,
    equality_power,
    minimum_detectable_difference,
    minimum_margin,
    power,
    seed_components,
    seeds_needed,
    standard_error,
)


def test_components_by_hand():
    scores, seeds = np.array([1.0, 3.0, 5.0, 7.0]), np.array([0, 0, 1, 1])
    # Within: 2. Between: means 2 and 6 have variance 8, of which half of 2 is from within.
    assert seed_components(scores, seeds) == pytest.approx((7.0, 2.0))


def test_balanced_components_are_those_of_restricted_likelihood():
    rng = np.random.default_rng(0)
    seeds = np.repeat(np.arange(12), 4)
    scores = 2 * rng.standard_normal(12)[seeds] + rng.standard_normal(48)
    model = smf.mixedlm("score ~ 1", pd.DataFrame({"score": scores}), groups=seeds).fit(reml=True)
    expected = float(model.cov_re.iloc[0, 0]), float(model.scale)
    assert seed_components(scores, seeds) == pytest.approx(expected, rel=1e-3)


def test_unbalanced_components_are_unbiased():
    rng = np.random.default_rng(1)
    seeds = np.repeat(np.arange(6), [1, 2, 3, 4, 5, 6])
    found = [
        seed_components(
            3 + 2 * rng.standard_normal(6)[seeds] + rng.standard_normal(len(seeds)), seeds
        )
        for _ in range(2000)
    ]
    assert np.mean(found, axis=0) == pytest.approx([4, 1], rel=0.08)


def test_unbalanced_components_are_those_of_an_analysis_of_variance():
    """Of 1, 2 and 5 runs, with n0 = (8 - 30 / 8) / 2 (Searle, Casella and McCulloch 1992)."""
    rng = np.random.default_rng(2)
    seeds = np.repeat([0, 1, 2], [1, 2, 5])
    scores = np.array([10.0, 2.0, -3.0])[seeds] + rng.standard_normal(8)
    groups = [scores[seeds == seed] for seed in range(3)]
    within = sum(((one - one.mean()) ** 2).sum() for one in groups) / (8 - 3)
    between = within * scipy.stats.f_oneway(*groups).statistic
    expected = (between - within) / ((8 - 30 / 8) / 2), within
    assert seed_components(scores, seeds) == pytest.approx(expected)


def test_components_never_fall_below_zero():
    between, within = seed_components(np.array([0.0, 9.0, 0.0, 9.0]), np.array([0, 0, 1, 1]))
    assert between == 0
    assert within == pytest.approx(40.5)


def test_one_fine_tuning_run_a_seed_leaves_the_two_apart_unknown():
    between, within = seed_components(np.array([1.0, 3.0]), np.array([0, 1]))
    assert between == 2
    assert np.isnan(within)


def test_components_need_two_pretraining_seeds():
    with pytest.raises(ValueError, match="at least two of them"):
        seed_components(np.array([1.0, 2.0]), np.array([0, 0]))


def test_components_need_finite_scores():
    with pytest.raises(ValueError, match="scores must be finite, but 1 of 2 are not"):
        seed_components(np.array([1.0, np.nan]), np.array([0, 1]))


def test_standard_error_by_hand():
    components = Components(pretrain=4.0, finetune=6.0, examples=1.0)
    assert standard_error(components, 4, 3) == pytest.approx(np.sqrt(2 * (4 / 4 + 6 / 12) + 1))
    together = Components(pretrain=4.0, finetune=float("nan"), examples=0.0)
    assert standard_error(together, 4, 3) == pytest.approx(np.sqrt(2))


@pytest.mark.parametrize(
    ("seeds", "level", "wanted"),
    [(3, 0.05, 0.8), (5, 0.05, 0.8), (5, 0.01, 0.9), (30, 0.01, 0.9)],  # of 2 it gives NaN
)
def test_detectable_difference_of_pairs_is_that_of_statsmodels(seeds, level, wanted):
    """Variance of a difference: that of two arms which have nothing in common."""
    sd = 1.7
    found = minimum_detectable_difference(
        Components(sd**2, 0.0, 0.0), seeds, 1, paired=True, level=level, power_wanted=wanted
    )
    reached = TTestPower().power(found / (np.sqrt(2) * sd), seeds, level)
    assert reached == pytest.approx(wanted, abs=1e-6)


@pytest.mark.parametrize("paired", [False, True])
@pytest.mark.parametrize("seeds", [2, 3, 5, 10])
def test_detectable_difference_is_found_so_often(seeds, paired):
    """By the tests that reports take. With 2 seeds a pooled t-test finds 80 % of what Welch's finds
    in 48."""
    rng = np.random.default_rng(seeds)
    true = minimum_detectable_difference(Components(1.0, 2.0, 0.0), seeds, 2, paired=paired)
    arms = rng.standard_normal((2, 4000, seeds)) * np.sqrt(1 + 2 / 2)
    test = scipy.stats.ttest_rel if paired else partial(scipy.stats.ttest_ind, equal_var=False)
    p_values = test(arms[0] + true, arms[1], axis=1).pvalue
    assert np.mean(p_values < 0.05) == pytest.approx(0.8, abs=0.02)


@pytest.mark.parametrize("seeds", [2, 3, 5])
def test_power_is_the_share_of_significant_welch_tests(seeds):
    """Without the opposite tail; 200,000 simulated pairs of arms."""
    arms = np.random.default_rng(0).standard_normal((2, 200_000, seeds))
    arms[0] += 3 * np.sqrt(2 / seeds)
    test = scipy.stats.ttest_ind(*arms, axis=1, equal_var=False)
    found = np.mean((test.pvalue < 0.05) & (test.statistic > 0))
    assert power(3.0, seeds, paired=False) == pytest.approx(found, abs=0.004)  # 3.5 standard errors


def test_with_many_seeds_the_power_is_that_of_the_pooled_test():
    assert power(2.5, 60, paired=False) == pytest.approx(
        TTestIndPower().power(2.5 / np.sqrt(60 / 2), 60, 0.05), abs=1e-3
    )


@pytest.mark.parametrize("paired", [False, True])
@pytest.mark.parametrize("seeds", [2, 3, 10])
def test_equal_arms_are_within_the_smallest_margin_so_often(seeds, paired):
    """The intervals of 90 % of 100,000 simulated pairs of equal arms, by scipy."""
    arms = np.random.default_rng(0).standard_normal((2, 100_000, seeds))
    if paired:
        test = scipy.stats.ttest_rel(*arms, axis=1)
    else:
        test = scipy.stats.ttest_ind(*arms, axis=1, equal_var=False)
    low, high = test.confidence_interval(0.9)
    unit = Components(1.0, float("nan"), 0.0)
    margin = minimum_margin(unit, seeds, 1, paired=paired)
    assert np.mean(np.maximum(-low, high) < margin) == pytest.approx(0.8, abs=0.005)
    within = np.mean(np.maximum(-low, high) < margin / 2)
    found = equality_power(margin / 2 / np.sqrt(2 / seeds), seeds, paired=paired)
    assert found == pytest.approx(within, abs=0.005)


def test_one_seed_confirms_no_equality():
    assert minimum_margin(Components(1.0, 1.0, 0.1), 1, 1) == float("inf")


def test_more_seeds_detect_less_and_one_seed_nothing():
    components = Components(1.0, 1.0, 0.1)
    found = [minimum_detectable_difference(components, seeds, 2) for seeds in (1, 2, 3, 5, 10)]
    assert found[0] == float("inf")
    assert found == sorted(found, reverse=True)


def test_seeds_needed_is_the_first_number_that_does():
    components = Components(pretrain=9.0, finetune=4.0, examples=0.2)
    seeds = seeds_needed(components, 2.5, 2)
    assert seeds is not None
    assert minimum_detectable_difference(components, seeds, 2) <= 2.5
    assert minimum_detectable_difference(components, seeds - 1, 2) > 2.5
    assert seeds_needed(components, 0.5, 2) is None  # the test set alone spreads by 0.45


def test_seeds_needed_from_the_least_to_the_most(monkeypatch):
    components = Components(pretrain=9.0, finetune=4.0, examples=0.2)
    assert seeds_needed(components, 100.0, 2) == 2  # one seed detects nothing
    seeds = seeds_needed(components, 2.5, 2)
    monkeypatch.setattr("harness.analysis.statistics.variance.MAX_SEEDS", seeds)
    assert seeds_needed(components, 2.5, 2) == seeds
    monkeypatch.setattr("harness.analysis.statistics.variance.MAX_SEEDS", seeds - 1)
    assert seeds_needed(components, 2.5, 2) is None


def test_a_plan_is_for_two_sided_tests_at_five_per_cent_with_power_eighty():
    components = Components(pretrain=9.0, finetune=4.0, examples=0.2)
    same = {"level": 0.05, "power_wanted": 0.8, "paired": False}
    found = minimum_detectable_difference(components, 5, 2)
    assert found == minimum_detectable_difference(components, 5, 2, **same)
    assert seeds_needed(components, 2.5, 2) == seeds_needed(components, 2.5, 2, **same)
    assert power(2.0, 5, paired=False) == power(2.0, 5, paired=False, level=0.05)
