"""The exact limits of few seeds, as counted by hand."""

import pytest
from scipy.stats import binomtest, t

from harness.analysis.statistics.seed_limits import (
    SHOWN_SEEDS,
    seed_limits,
    seed_note,
    unseen_note,
    unseen_share,
)


@pytest.mark.parametrize(
    ("seeds", "permutation", "sign_flip"),
    [
        (1, 1.0, 1.0),
        (3, 0.1, 0.25),
        (4, 0.0286, 0.125),
        (5, 0.0079, 0.0625),
        (10, 1.08e-5, 0.00195),
    ],
)
def test_seed_limits(seeds, permutation, sign_flip):
    assert seed_limits(seeds) == pytest.approx((permutation, sign_flip), rel=0.01)


def test_seed_note():
    assert "p below 0.1, a paired sign-flip test none below 0.25" in seed_note(3)
    assert "have too few permutations to help: a permutation test" in seed_note(3)
    for seeds in (4, 6, 9):  # with which a permutation test can reject at 5 %
        assert seed_limits(seeds)[0] < 0.05
        assert "have few permutations: a permutation test" in seed_note(seeds)
    assert "these checkpoints only" in seed_note(1)
    two = seed_note(2, "Some arms (a)")
    assert two.startswith("Some arms (a) have 2 pretraining seeds, which hardly bound a difference")


def test_failures_that_seeds_do_not_show():
    """The share at which no failed run is drawn in 5 %: the upper end of the exact interval of a
    share of which none is seen (Clopper and Pearson 1934), one-sided."""
    for seeds in (2, 3, 10):
        upper = binomtest(0, seeds, alternative="less").proportion_ci(0.95).high
        assert unseen_share(seeds) == pytest.approx(upper)
    assert unseen_share(SHOWN_SEEDS) < 0.1 < unseen_share(SHOWN_SEEDS - 1)
    assert "3 seeds may miss runs that fail: if 63 % of an arm's runs do" in unseen_note(3)
    assert not unseen_note(SHOWN_SEEDS)


def test_intervals_of_two_seeds_are_three_to_seven_times_as_wide_as_of_five():
    """Student's quantiles times the standard error: unpaired with 2 S - 2 degrees of freedom,
    paired with S - 1."""
    for per_seed, ratio in ((2, 2.95), (1, 7.2)):
        two, five = (t.ppf(0.975, per_seed * (s - 1)) / s**0.5 for s in (2, 5))
        assert two / five == pytest.approx(ratio, abs=0.05)
    with pytest.raises(ValueError, match="at least 1, but is 0"):
        seed_note(0)
