"""Runs in two groups: the rule by hand, and its parts against independent formulas."""

from itertools import combinations

import numpy as np
import pytest
import scipy.stats

from harness.analysis.statistics.two_groups import (
    APART,
    mean_variance,
    two_groups,
    without_seed_effects,
)

ONE_FAILED = np.array([38.0, 4.0, 39.0])


def test_a_run_that_did_not_learn_is_a_group():
    found = two_groups({"bert": np.array([35.0, 36.5, 34.2]), "roberta": ONE_FAILED})
    (one,) = found.values()
    assert (one.arm, one.few, one.runs, one.distance) == ("roberta", 1, 3, 34.5)


def test_the_smaller_group_is_counted_and_the_distance_is_between_means():
    rest = np.array([30.0, 31, 32.5, 30.7])
    (one,) = two_groups({"a": np.array([70.0, 30, 31, 32, 71]), "b": rest}).values()
    assert (one.few, one.runs, one.distance) == (2, 5, 70.5 - 31)
    (one,) = two_groups({"a": np.array([30.0, 30, 31, 70]), "b": rest}).values()
    assert (one.few, one.runs) == (1, 4)


def test_the_distance_is_compared_with_the_median_over_all_runs():
    """Deviations of `a`: 1, 1, 2, 2; of `b`: 1 and its distance from the median."""
    for distance, is_group in ((APART * 1.5 - 0.1, False), (APART * 1.5 + 0.1, True)):
        arms = {"a": np.array([0.0, 1, 3, 4]), "b": np.array([0.0, 1, 1 + distance])}
        deviations = [2, 1, 1, 2, 1, distance]
        assert np.median(deviations) == 1.5
        assert ("b" in two_groups(arms)) == is_group


@pytest.mark.parametrize("seeds", [4, 10])
def test_the_typical_deviation_is_the_median_absolute_deviation(seeds):
    """Of one arm with an even number of runs."""
    rng = np.random.default_rng(seeds)
    for _ in range(50):
        scores = rng.standard_normal(seeds) ** 3
        gap = np.diff(np.sort(scores)).max()
        is_group = gap > APART * scipy.stats.median_abs_deviation(scores)
        assert bool(two_groups({"a": scores})) == is_group


def test_groups_do_not_depend_on_scale_order_and_level():
    arms = {"a": np.array([1.0, 2, 3.5]), "b": ONE_FAILED}
    changed = {arm: 7 - 0.01 * scores[::-1] for arm, scores in arms.items()}
    assert two_groups(changed).keys() == two_groups(arms).keys() == {"b"}


def test_two_runs_and_equal_runs_are_no_groups():
    assert not two_groups({"a": np.array([0.0, 50]), "b": np.array([1.0, 1.1])})
    assert not two_groups({"a": np.array([2.0, 2, 2]), "b": np.array([1.0, 2, 3.5])})
    assert not two_groups({"a": np.array([2.0, 2, 2]), "b": np.array([7.0])})
    assert not two_groups({})


def test_two_runs_are_no_groups_however_far_apart():
    rest = {arm: np.array([1.0, 1.1, 1.2, 1.3]) for arm in "bcd"}
    assert not two_groups({"a": np.array([0.0, 50]), **rest})
    assert two_groups({"a": np.array([0.0, 50, 50.1]), **rest}).keys() == {"a"}


def test_a_failed_run_among_equal_ones_is_a_group_on_any_scale():
    """The median deviation is 0; the mean is a twentieth of the distance."""
    for scale in (1e-3, 1.0, 1e3):
        assert two_groups({"a": scale * np.array([0.5, *[0.952] * 19])})


def test_a_single_lower_score_among_equal_ones_is_no_group():
    """The median deviation is 0; the mean is 0.025."""
    assert not two_groups({"a": np.array([95.2, 95.2, 95.2, 95.1])})


def test_normal_runs_seldom_fall_into_two_groups():
    """In at most 6 per cent of tables of 8 arms with 3 seeds, the worst case of docs/statistics.md;
    300 tables."""
    rng = np.random.default_rng(0)
    tables = rng.standard_normal((300, 8, 3))
    found = np.mean([bool(two_groups(dict(enumerate(map(np.array, one))))) for one in tables])
    assert found <= 0.06 + 3 * np.sqrt(0.06 * 0.94 / 300)


def test_mean_variance_is_that_within_arms():
    """For arms with equal numbers of runs it is the mean square within groups of an ANOVA."""
    rng = np.random.default_rng(1)
    arms = {str(i): rng.normal(0, 1 + i, 4) for i in range(3)}
    within = sum(((a - a.mean()) ** 2).sum() for a in arms.values()) / (3 * (4 - 1))
    found = mean_variance({**arms, "equal": np.full(4, 2.0), "one": np.array([1.0])})
    assert found.value == pytest.approx(within)
    assert 3 <= found.freedom <= 9
    alike = mean_variance({"a": np.array([0.0, 1, 2]), "b": np.array([5.0, 6, 7])})
    assert (alike.value, alike.freedom) == pytest.approx((1, 4))
    dominated = mean_variance({"a": np.array([0.0, 1, 2]), "b": np.array([0.0, 1000, 2000])})
    assert dominated.freedom == pytest.approx(2, rel=1e-3)
    assert mean_variance({}).value == 0


def test_scores_without_seed_effects_have_half_the_variance_of_differences():
    rng = np.random.default_rng(2)
    arms = dict(enumerate(rng.normal(size=(5, 4)) + rng.normal(0, 10, 4)))
    of_pairs = [(arms[i] - arms[j]).var(ddof=1) for i, j in combinations(arms, 2)]
    rest = without_seed_effects(arms)
    assert 2 * mean_variance(rest).value == pytest.approx(np.mean(of_pairs))
