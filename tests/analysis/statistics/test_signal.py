"""Signal and noise: by hand, against simulation, and where they are unknown."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import f_oneway, studentized_range
from statsmodels.stats.anova import AnovaRM

from harness.analysis.statistics.signal import (
    analysis_of_variance,
    expected_range,
    signal_and_noise,
)


def test_by_hand() -> None:
    found = signal_and_noise([np.array([50.0, 54.0]), np.array([60.0, 60.0]), np.array([np.nan])])
    assert found
    assert found.signal == 60 - 52
    assert found.noise == pytest.approx(2.0)  # (2^2 + 2^2 + 0 + 0) / (1 + 1) = 4
    assert found.ratio == pytest.approx(4.0)
    assert found.without == pytest.approx(2.0 / 2**0.5 * 2 / np.pi**0.5)  # E|difference| of two
    assert found.p == pytest.approx(f_oneway([50.0, 54.0], [60.0, 60.0]).pvalue)


@pytest.mark.parametrize("number", [2, 3, 8])
def test_the_expected_range_is_that_of_the_studentized_range(number: int) -> None:
    theirs = studentized_range(number, 1e6).expect(lambda x: x, lb=0, ub=20)
    assert expected_range(number) == pytest.approx(theirs, rel=1e-4)


def test_arms_without_a_difference_show_the_expected_signal() -> None:
    rng = np.random.default_rng(0)
    found = [signal_and_noise([*rng.normal(50, 3, (4, 5))]) for _ in range(2_000)]
    signals, without, ps = np.array([(s.signal, s.without, s.p) for s in found if s]).T
    assert signals.mean() == pytest.approx(without.mean(), rel=0.03)
    assert (ps < 0.05).mean() == pytest.approx(0.05, abs=0.015)


def test_arms_with_other_numbers_of_seeds() -> None:
    """The noise is the mean square within arms, and two arms without a difference are apart by
    E|difference| = sd of the difference * sqrt(2 / pi)."""
    arms = [np.array([50.0, 54.0]), np.array([60.0, 61.0, 59.0, 60.0, 65.0])]
    found = signal_and_noise(arms)
    noise = np.sqrt(sum(((one - one.mean()) ** 2).sum() for one in arms) / (1 + 4))
    assert found and found.noise == pytest.approx(noise)
    assert found.without == pytest.approx(noise * np.sqrt((1 / 2 + 1 / 5) * 2 / np.pi))


def test_unknown() -> None:
    one, two = np.array([1.0]), np.array([1.0, 2.0])
    assert signal_and_noise([two]) is None
    assert signal_and_noise([one, one]) is None
    assert signal_and_noise([one, np.array([])]) is None
    assert signal_and_noise([one, two]) is not None
    equal = signal_and_noise([np.array([1.0, 1.0]), np.array([2.0, 2.0])])
    assert equal and equal.noise == 0 and equal.ratio == np.inf and np.isnan(equal.p)


@pytest.mark.parametrize("sizes", [(2, 2), (3, 5, 4), (1, 2), (10, 10, 10, 10)])
def test_the_analysis_of_variance_is_that_of_scipy(sizes: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    for mean in (0.0, 50.0):
        arms = [rng.normal(mean + place, 2.0, size) for place, size in enumerate(sizes)]
        assert analysis_of_variance(arms) == pytest.approx(f_oneway(*arms).pvalue)


def test_equal_scores_have_no_noise_however_they_are_rounded() -> None:
    """The mean of three times 52.7 is not 52.7."""
    found = signal_and_noise([np.full(3, 52.7), np.full(3, 54.1)])
    assert found and found.noise == 0 and np.isnan(found.p) and found.without == 0


@pytest.mark.parametrize(("arms", "seeds"), [(2, 3), (4, 5)])
def test_paired_arms_have_the_analysis_of_variance_of_repeated_measures(
    arms: int, seeds: int
) -> None:
    rng = np.random.default_rng(0)
    scores = rng.normal(50, 5, seeds) + rng.normal(np.arange(arms)[:, None], 1.0, (arms, seeds))
    rows = [(arm, seed, scores[arm, seed]) for arm in range(arms) for seed in range(seeds)]
    frame = pd.DataFrame(rows, columns=["arm", "seed", "score"])
    theirs = AnovaRM(frame, "score", "seed", ["arm"]).fit().anova_table
    found = signal_and_noise([*scores], paired=True)
    assert found and found.p == pytest.approx(theirs["Pr > F"].item())
    alone = signal_and_noise([*scores])
    assert alone and alone.noise > found.noise and alone.p > found.p
    rest = scores - scores.mean(0) - scores.mean(1, keepdims=True) + scores.mean()
    assert found.noise == pytest.approx(((rest**2).sum() / ((arms - 1) * (seeds - 1))) ** 0.5)
    assert found.without == pytest.approx(found.noise * expected_range(arms) / seeds**0.5)


def test_paired_arms_without_a_difference() -> None:
    rng = np.random.default_rng(0)
    ps = []
    for _ in range(2_000):
        found = signal_and_noise([*(rng.normal(50, 3, (4, 5)) + rng.normal(0, 9, 5))], paired=True)
        ps.append(found.p if found else np.nan)
    assert (np.array(ps) < 0.05).mean() == pytest.approx(0.05, abs=0.015)
