"""Contrasts of several arms and tests of equality against scipy's t-tests."""

import numpy as np
import pytest
import scipy.stats

from harness.analysis.statistics.two_groups import MeanVariance
from harness.analysis.statistics.welch import contrast, contrast_over_seeds, welch

LINE = np.array([1.5, 0.5, -0.5, -1.5])


def test_two_sides_are_welchs_test():
    rng = np.random.default_rng(0)
    first, second = rng.normal(1, 2, (21, 4)), rng.normal(0, 1, (21, 3))
    assert contrast([first, -second]) == welch(first, second, paired=False)
    paired = welch(first[:, :3], second, paired=True)
    assert contrast([first[:, :3] - second]) == paired


def test_a_contrast_of_arms_with_the_same_checkpoints_is_a_test_of_one_sample():
    arms = np.random.default_rng(1).normal(size=(4, 6))
    found = contrast_over_seeds([LINE @ arms])
    theirs = scipy.stats.ttest_1samp(LINE @ arms, 0)
    assert found.p_value == pytest.approx(theirs.pvalue, rel=1e-6)
    assert (found.low, found.high) == pytest.approx(tuple(theirs.confidence_interval()))
    assert found.num_seeds == 6


def test_a_contrast_of_many_seeds_has_the_closed_form():
    """With many seeds, t and the degrees of freedom of Welch do not matter."""
    rng = np.random.default_rng(2)
    arms = [rng.normal(0, sd, 2000) for sd in (1, 2, 3, 4)]
    found = contrast_over_seeds([w * arm for w, arm in zip(LINE, arms, strict=True)])
    variance = sum(w**2 * arm.var(ddof=1) / 2000 for w, arm in zip(LINE, arms, strict=True))
    estimate = sum(w * arm.mean() for w, arm in zip(LINE, arms, strict=True))
    assert found.estimate == pytest.approx(estimate)
    assert found.high - estimate == pytest.approx(1.96 * np.sqrt(variance), rel=2e-3)
    assert found.p_value == pytest.approx(
        2 * scipy.stats.norm.sf(abs(estimate) / variance**0.5), rel=2e-2
    )


def test_what_resampled_examples_share_cancels():
    rng = np.random.default_rng(3)
    shared = rng.normal(size=(41, 1))
    shared[0] = 0
    seeds = rng.normal(size=(4, 1, 5))
    sides = [w * (one + shared) for w, one in zip(LINE, seeds, strict=True)]
    without = [w * (one + 0 * shared) for w, one in zip(LINE, seeds, strict=True)]
    assert contrast(sides).high == pytest.approx(contrast(without).high)


def test_the_least_variance_widens_the_interval():
    arms = [np.array([1.0, 1.1, 0.9]), np.array([0.0, 0.1, -0.1])]
    sides = [arms[0], -arms[1]]
    alone = contrast_over_seeds(sides)
    wide = contrast_over_seeds(sides, least=[MeanVariance(1.0, 20.0)] * 2)
    assert wide.low < alone.low and wide.p_value > alone.p_value
    assert contrast_over_seeds(sides, least=[None, None]) == alone


@pytest.mark.parametrize("apart", [-4.0, -0.5, 0.0, 0.5, 4.0])
def test_equality_is_two_one_sided_tests(apart):
    rng = np.random.default_rng(4)
    first, second, margin = rng.normal(apart, 1, 5), rng.normal(0, 0.5, 4), 2.0
    found = contrast_over_seeds([first, -second], margin=margin)

    def one_sided(by, alternative):
        return scipy.stats.ttest_ind(first - by, second, equal_var=False, alternative=alternative)

    if abs(found.estimate) < margin:
        both = one_sided(margin, "less").pvalue, one_sided(-margin, "greater").pvalue
        assert found.p_value == pytest.approx(max(both), rel=1e-6)
    else:
        beyond = one_sided(margin, "greater").pvalue, one_sided(-margin, "less").pvalue
        assert found.p_value == pytest.approx(min(beyond), rel=1e-6)
    plain = contrast_over_seeds([first, -second])
    assert (found.low, found.high) == (plain.low, plain.high)


@pytest.mark.parametrize("bound", [-2.0, 0.5])
def test_non_inferiority_is_welchs_test_against_the_margin(bound):
    rng = np.random.default_rng(4)
    first, second = rng.normal(-0.5, 1, 5), rng.normal(0, 0.5, 4)
    found, plain = (contrast_over_seeds([first, -second], bound=by) for by in (bound, 0.0))
    test = scipy.stats.ttest_ind(first - bound, second, equal_var=False)
    assert found.p_value == pytest.approx(test.pvalue, rel=1e-6)
    assert (found.estimate, found.low, found.high) == (plain.estimate, plain.low, plain.high)


@pytest.mark.parametrize("weights", [LINE, np.array([1, -1, -1, 1.0])])
@pytest.mark.parametrize("seeds", [2, 3, 5])
def test_equal_arms_have_a_trend_or_an_interaction_in_at_most_five_per_cent(weights, seeds):
    arms = np.random.default_rng(seeds).standard_normal((500, 4, seeds))
    found = [contrast_over_seeds(list(weights[:, None] * one)).p_value < 0.05 for one in arms]
    assert 0.01 < np.mean(found) < 0.05 + 0.03  # 3 standard errors


@pytest.mark.parametrize("seeds", [2, 3, 5])
def test_arms_a_margin_apart_are_rarely_judged(seeds):
    """At the margin, each of the two verdicts is wrong in at most 5 %."""
    arms = np.random.default_rng(seeds).standard_normal((500, 2, seeds))
    found = [contrast_over_seeds([a + 4, -b], margin=4.0) for a, b in arms]
    equal = [one.p_value < 0.05 and abs(one.estimate) < 4 for one in found]
    beyond = [one.p_value < 0.05 and abs(one.estimate) > 4 for one in found]
    assert max(np.mean(equal), np.mean(beyond)) < 0.05 + 0.03


def test_sides_of_other_resamples_are_refused():
    with pytest.raises(ValueError, match="on the same two or more resamples"):
        contrast([np.zeros((4, 3)), np.zeros((5, 3))])
