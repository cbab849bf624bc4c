"""Welch's interval against scipy's t-tests, closed forms and simulations with a known truth."""

import numpy as np
import pytest
import scipy.stats

from harness.analysis.statistics.bootstrap import Runs, bootstrap_scores
from harness.analysis.statistics.two_groups import MeanVariance
from harness.analysis.statistics.welch import seed_means, welch

RESAMPLES = 40


def certain(scores):
    """Scores [num_seeds] that are the same on every resample of the examples."""
    return np.tile(np.asarray(scores, dtype=float), (RESAMPLES + 1, 1))


@pytest.mark.parametrize(("first", "second"), [(2, 2), (3, 3), (5, 3), (10, 4)])
def test_without_example_variance_it_is_welchs_test(first, second):
    rng = np.random.default_rng(first)
    arms = rng.normal(1, 2, first), rng.normal(0, 1, second)
    ours = welch(certain(arms[0]), certain(arms[1]), paired=False)
    theirs = scipy.stats.ttest_ind(*arms, equal_var=False)
    assert ours.estimate == pytest.approx(arms[0].mean() - arms[1].mean())
    assert ours.p_value == pytest.approx(theirs.pvalue, rel=1e-6)
    assert (ours.low, ours.high) == pytest.approx(tuple(theirs.confidence_interval()))


@pytest.mark.parametrize("seeds", [2, 3, 8])
def test_without_example_variance_pairs_are_the_paired_t_test(seeds):
    rng = np.random.default_rng(seeds)
    first, second = rng.normal(0.5, 1, (2, seeds))
    ours = welch(certain(first), certain(second), paired=True)
    theirs = scipy.stats.ttest_rel(first, second)
    assert ours.p_value == pytest.approx(theirs.pvalue, rel=1e-6)
    assert (ours.low, ours.high) == pytest.approx(tuple(theirs.confidence_interval()))


def test_rounding_errors_are_no_difference():
    """The mean of seven equal scores is another number than that of five."""
    rng = np.random.default_rng(0)
    noisy = 0
    for score in rng.uniform(0, 1, 50):
        for first, second in [(7, 3), (7, 5), (7, 2), (6, 3)]:
            sides = np.full(first, score), np.full(second, score)
            noisy += sides[0].mean() != sides[1].mean()
            found = welch(*map(certain, sides), paired=False)
            assert found.estimate == 0.0 and found.p_value == pytest.approx(1.0)
    assert noisy  # else nothing was tested
    found = welch(certain(np.full(3, 0.1 + 0.2)), certain(np.full(3, 0.3)), paired=True)
    assert found.estimate == 0.0 and found.p_value == pytest.approx(1.0)
    small = welch(certain([1e-9, 2e-9]), certain([0.0, 0.0]), paired=True)
    assert small.estimate == pytest.approx(1.5e-9)


def test_one_seed_an_arm_leaves_the_spread_over_examples():
    rng = np.random.default_rng(0)
    arms = rng.normal(size=(2, 401, 1)) * [[[2.0]], [[1.0]]]
    found = welch(arms[0], arms[1], paired=False)
    sd = np.sqrt(
        arms[0, 1:].var(ddof=1)
        + arms[1, 1:].var(ddof=1)
        - 2 * np.cov(arms[0, 1:, 0], arms[1, 1:, 0])[0, 1]
    )
    assert found.high - found.estimate == pytest.approx(scipy.stats.norm.ppf(0.975) * sd)
    p_value = 2 * scipy.stats.norm.sf(abs(found.estimate) / sd)
    assert found.p_value == pytest.approx(p_value, rel=1e-6)
    paired = welch(arms[0], arms[1], paired=True)
    assert (paired.low, paired.high) == pytest.approx((found.low, found.high))


def test_what_all_runs_share_cancels_and_an_arms_own_does_not():
    """Resamples move all runs by `shared`, and those of the first arm by `own` too."""
    rng = np.random.default_rng(1)
    shared, own = rng.normal(size=(2, RESAMPLES + 1, 1))
    shared[0] = own[0] = 0
    seeds = np.array([[0.0, 1.0, 2.0]])
    still = welch(certain(seeds[0]) + shared, certain(seeds[0] + 1) + shared, paired=False)
    expected = welch(certain(seeds[0]), certain(seeds[0] + 1), paired=False)
    assert (still.low, still.high) == pytest.approx((expected.low, expected.high))
    moved = welch(seeds + shared + own, seeds + shared, paired=False)
    of_seeds = welch(certain(seeds[0]), certain(seeds[0]), paired=False).high
    of_examples = scipy.stats.norm.ppf(0.975) * own[1:].std(ddof=1)
    assert moved.high == pytest.approx(np.hypot(of_seeds, of_examples))


def test_noise_of_single_answers_is_counted_once():
    """Independent answers: all the spread is of the runs, and none of the examples."""
    rng = np.random.default_rng(2)
    right = (rng.random((40, 200, 1)) < 0.7).astype(float)
    scores = bootstrap_scores({"a": right}, {"a": lambda sums: sums[..., 0] / 200}, 400, rng)["a"]
    found = welch(scores[:, :20], scores[:, 20:], paired=False)
    alone = scipy.stats.ttest_ind(scores[0, :20], scores[0, 20:], equal_var=False)
    low, high = alone.confidence_interval()
    assert found.high - found.low == pytest.approx(high - low, rel=0.1)


def test_interval_and_p_value_agree():
    rng = np.random.default_rng(3)
    for _ in range(50):
        first, second = rng.normal(size=(2, 21, 3)) + np.array([2.0, 0.0])[:, None, None]
        found = welch(first, second, paired=False)
        assert (found.p_value < 0.05) == (found.low > 0 or found.high < 0)
        turned = welch(second, first, paired=False)
        assert (turned.low, turned.p_value) == pytest.approx((-found.high, found.p_value))


def test_equal_arms_and_arms_without_spread():
    same = welch(certain([0.1, 0.5]), certain([0.1, 0.5]), paired=True)
    assert (same.estimate, same.low, same.high, same.p_value) == (0, 0, 0, 1)
    apart = welch(certain([0.5, 0.5]), certain([0.1, 0.1]), paired=False)
    assert (apart.low, apart.high, apart.p_value) == pytest.approx((0.4, 0.4, 0))


def test_seed_means_are_over_the_seeds_of_every_task():
    scores = np.arange(8.0).reshape(2, 4)
    full = Runs(np.array([3, 3, 1, 2]), np.array([0, 1, 0, 0]), {"f1": scores})
    part = Runs(np.array([1, 3]), np.array([0, 0]), {"f1": scores[:, :2]})
    means = seed_means({"one": full, "two": part})
    assert means["one", "f1"] == pytest.approx(np.array([[2.0, 0.5], [6.0, 4.5]]))
    assert means["two", "f1"] == pytest.approx(np.array([[0.0, 1.0], [4.0, 5.0]]))
    assert seed_means({"one": full})["one", "f1"].shape == (2, 3)


@pytest.mark.parametrize("paired", [False, True])
@pytest.mark.parametrize("seeds", [2, 3, 5, 10])
def test_equal_arms_differ_significantly_in_five_per_cent(seeds, paired):
    """Normal seeds: exact if paired; unpaired, degrees of freedom come out too few for 2 or 3."""
    rng = np.random.default_rng(seeds)
    arms = rng.standard_normal((1000, 2, seeds))
    found = [welch(certain(a), certain(b), paired=paired).p_value < 0.05 for a, b in arms]
    nominal = 0.05 if paired else {2: 0.02, 3: 0.035}.get(seeds, 0.05)
    assert np.mean(found) == pytest.approx(nominal, abs=0.02)  # 3 standard errors


@pytest.mark.parametrize("paired", [False, True])
@pytest.mark.parametrize("seeds", [2, 3, 5, 10])
def test_intervals_with_seeds_and_examples_hold_the_truth(seeds, paired):
    """Half of the variance from each part. With few seeds such intervals are somewhat too wide."""
    rng = np.random.default_rng(10 * seeds)
    held = []
    for _ in range(600):
        own = rng.normal(size=(2, RESAMPLES + 1, 1)) / np.sqrt(seeds)
        own[:, 0] = rng.normal(size=(2, 1)) / np.sqrt(seeds)
        # Rows are centred on what was observed, as resamples are.
        own[:, 1:] += own[:, :1]
        arms = own + rng.standard_normal((2, 1, seeds))
        found = welch(arms[0], arms[1], paired=paired)
        held.append(found.low <= 0 <= found.high)
    assert 0.93 <= np.mean(held) <= 0.995


@pytest.mark.parametrize(("seeds", "held"), [(3, 0.92), (5, 0.845), (10, 0.81)])
def test_coverage_is_lost_if_only_one_arm_diverges(seeds, held):
    """One run in ten is 20 points lower, the others have a standard deviation of 2. Most samples
    have no such run, so that no rule can tell (docs/statistics.md, "Runs in two groups")."""
    rng = np.random.default_rng(seeds)
    arms = 2 * rng.standard_normal((600, 2, seeds))
    arms[:, 0] -= 20 * (rng.random((600, seeds)) < 0.1)
    found = [welch(certain(a), certain(b), paired=False) for a, b in arms]
    share = np.mean([one.low <= -2 <= one.high for one in found])
    assert share == pytest.approx(held, abs=0.05)  # 3 standard errors


def test_scores_that_are_not_finite_are_refused():
    with pytest.raises(ValueError, match="scores must be finite, but 41 of 82 are not"):
        welch(certain([1.0, 2.0]), certain([1.0, np.nan]), paired=False)


def test_the_number_of_seeds_is_that_of_the_arm_with_fewer():
    assert welch(certain([1.0, 2.0, 3.0]), certain([1.0, 2.0]), paired=False).num_seeds == 2


def test_the_variance_of_both_parts_is_known():
    """From them a verdict computes the seeds that would show a difference: s^2 / S of each arm, and
    the covariance over resamples of what both arms share."""
    rng = np.random.default_rng(4)
    own = rng.normal(size=(RESAMPLES + 1, 1))
    own[0] = 0
    first, second = np.array([0.0, 1, 5]), np.array([2.0, 3, 3, 7])
    found = welch(first + own, certain(second), paired=False)
    assert found.seed_variance == pytest.approx(first.var(ddof=1) / 3 + second.var(ddof=1) / 4)
    assert found.example_variance == pytest.approx(own[1:].var(ddof=1))
    paired = welch(first + own, certain(second[:3]), paired=True)
    assert paired.seed_variance == pytest.approx((first - second[:3]).var(ddof=1) / 3)
    known = welch(certain(first), certain(second), paired=False, least=MeanVariance(50.0, 8.0))
    assert known.seed_variance == pytest.approx(50 / 3 + 50 / 4) and known.example_variance == 0


def test_arms_that_are_compared_seed_by_seed_are_one_side():
    scores = np.zeros((3, 2))
    assert [welch(scores, scores, paired=one).sides for one in (True, False)] == [1, 2]


@pytest.mark.parametrize(
    ("first", "second", "paired"),
    [
        ((5, 3), (6, 3), False),
        ((2, 3), (2, 3), False),
        ((5, 0), (5, 3), False),
        ((5, 2), (5, 3), True),
    ],
)
def test_arms_that_do_not_fit_are_refused(first, second, paired):
    with pytest.raises(ValueError, match="arms need scores"):
        welch(np.zeros(first), np.zeros(second), paired=paired)


def test_an_arm_has_at_least_the_variance_that_is_given():
    """Welch's test with the variance and the degrees of freedom of the first arm replaced."""
    first, second = np.array([1.0, 1.1, 0.9]), np.array([-4.0, -4.0, 0.0, 4.0, 4.0])
    found = welch(certain(first), certain(second), paired=False, least=MeanVariance(9.0, 8.0))
    parts = 9 / 3, 16 / 5
    freedom = sum(parts) ** 2 / (parts[0] ** 2 / 8 + parts[1] ** 2 / 4)
    half = scipy.stats.t.ppf(0.975, freedom) * np.sqrt(sum(parts))
    assert found.high - found.estimate == pytest.approx(half)
    p_value = 2 * scipy.stats.t.sf(abs(found.estimate) / np.sqrt(sum(parts)), freedom)
    assert found.p_value == pytest.approx(p_value)
    less = welch(certain(first), certain(second), paired=False, least=MeanVariance(0.001, 8.0))
    assert less == welch(certain(first), certain(second), paired=False)


def test_p_is_the_larger_one_with_and_without_the_least_variance():
    """Far from zero, that of few degrees of freedom, although its interval is narrower."""
    first, second = np.array([50.0, 50.2]), np.array([30.0, 30.1])
    plain = scipy.stats.ttest_ind(first, second, equal_var=False)
    known = welch(certain(first), certain(second), paired=False, least=MeanVariance(4.0, 8.0))
    half = scipy.stats.t.ppf(0.975, 16) * np.sqrt(4 / 2 + 4 / 2)
    assert known.high - known.estimate == pytest.approx(half)
    assert half > np.ptp(plain.confidence_interval()) / 2
    p_value = 2 * scipy.stats.t.sf(known.estimate / 2, 16)
    assert known.p_value == pytest.approx(max(plain.pvalue, p_value), rel=1e-6)
    assert p_value < plain.pvalue


def test_a_least_variance_leaves_an_arm_the_degrees_of_freedom_of_its_seeds():
    """That of a table of which one arm varies has few, but it is more than the arm shows."""
    first, second = np.array([1.0, 1.1, 0.9, 1.0, 1.05]), np.array([-4.0, -4.0, 0.0, 4.0, 4.0])
    found = welch(certain(first), certain(second), paired=False, least=MeanVariance(9.0, 1.2))
    parts = 9 / 5, 16 / 5
    freedom = sum(parts) ** 2 / (parts[0] ** 2 / 4 + parts[1] ** 2 / 4)
    half = scipy.stats.t.ppf(0.975, freedom) * np.sqrt(sum(parts))
    assert found.high - found.estimate == pytest.approx(half)


def test_a_least_variance_narrows_no_interval():
    """With more degrees of freedom, the interval with it may be narrower than the one without."""
    first, second = np.array([5.0, 5.1]), np.array([0.0, 0.1])
    alone = welch(certain(first), certain(second), paired=False)
    found = welch(certain(first), certain(second), paired=False, least=MeanVariance(0.006, 30.0))
    assert (found.low, found.p_value) == (alone.low, alone.p_value)
