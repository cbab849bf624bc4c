"""Kendall's tau of arms with few seeds."""

from itertools import combinations

import numpy as np
import pytest
import scipy.stats

from harness.analysis.statistics.bootstrap import Difference
from harness.analysis.statistics.rank_agreement import PairDifferences, at_least, rank_agreement

PAIRS = list(combinations(range(4), 2))


def difference(estimate: float, p_value: float, num_seeds: int = 3) -> Difference:
    return Difference(estimate, estimate - 1, estimate + 1, p_value, num_seeds)


def of_means(first: np.ndarray, second: np.ndarray, p_value: float = 0.001) -> list:
    pairs = combinations(range(len(first)), 2)
    return [tuple(difference(of[i] - of[j], p_value) for of in (first, second)) for i, j in pairs]


@pytest.mark.parametrize("num_arms", [4, 6])
def test_the_estimate_is_scipys_tau(num_arms: int) -> None:
    rng = np.random.default_rng(num_arms)
    for _ in range(20):
        first, second = rng.random((2, num_arms))
        found = rank_agreement(of_means(first, second), 0.2, 0.05)
        assert found.estimate + 0.2 == pytest.approx(scipy.stats.kendalltau(first, second)[0])
        assert found.low <= found.estimate <= found.high


def test_partial_conjunctions_by_hand() -> None:
    """n - u + 1 times the u-th smallest p, and not less than that of fewer effects."""
    assert at_least(np.array([0.03, 0.01, 0.02])) == pytest.approx([0.03, 0.04, 0.04])
    assert at_least(np.array([0.5, 0.5])) == pytest.approx([1.0, 1.0])


def test_intervals_by_hand() -> None:
    """Of six concordant pairs, p of four is 0.001, of one 0.01 and of one 0.4. That of five is
    2 x 0.01, so that tau is at least (5 - 1) / 6; that of all is 0.4."""
    pairs = of_means(np.arange(4), np.arange(4))
    pairs[0] = (difference(-1, 0.01), difference(-1, 0.4))
    pairs[1] = (difference(-1, 0.01), difference(-1, 0.001))
    found = rank_agreement(pairs, 0.5, 0.05)
    assert (found.estimate, found.high) == (0.5, 0.5)
    assert found.low == pytest.approx(4 / 6 - 0.5) and found.p_value == pytest.approx(0.02)
    strict = rank_agreement(pairs, 0.7, 0.05)  # all six must be concordant
    assert strict.p_value == pytest.approx(0.4) and strict.low < 0 < strict.high


def test_the_interval_ends_at_its_alpha_and_above_a_level_is_more_than_the_level() -> None:
    """Six concordant pairs: p of all is 0.04, and of four, with which tau is 1/3, 3 x 0.01. With
    three of six, tau is 0 and not above it."""
    p_values = (0.001, 0.002, 0.003, 0.01, 0.015, 0.04)
    pairs = [(difference(1, p), difference(1, 0.0001)) for p in p_values]
    found = rank_agreement(pairs, 0.0, 0.05)
    assert found.low == pytest.approx(1.0) and found.p_value == pytest.approx(3 * 0.01)
    assert rank_agreement(pairs, 0.0, 0.035).low == pytest.approx(4 / 6)
    turned = [(difference(-1, one.p_value), other) for one, other in pairs]
    below = rank_agreement(turned, 0.0, 0.05)
    assert (below.high, below.p_value) == pytest.approx((-1.0, 3 * 0.01))


def test_the_number_of_seeds_is_the_least_of_the_pairs() -> None:
    pairs = [(difference(1, 0.1, 5), difference(1, 0.1, 3)), (difference(1, 0.1, 4),) * 2]
    assert rank_agreement(pairs, 0.5, 0.05).num_seeds == 3
    counted = difference(1, 0.0, 0)  # FLOPs have no seeds
    assert rank_agreement([(counted, pairs[0][0])], 0.5, 0.05).num_seeds == 5
    assert rank_agreement([(counted, counted)], 0.5, 0.05).num_seeds == 0


def test_orders_that_disagree_lie_below_the_level() -> None:
    found = rank_agreement(of_means(np.arange(4), -np.arange(4), 0.001), 0.5, 0.05)
    assert found.high + 0.5 == pytest.approx(-1)
    assert found.p_value == pytest.approx(0.006)  # one of six: 6 x 0.001; two: 5 x 0.001


def test_equal_values_are_neither() -> None:
    pairs = of_means(np.array([0.0, 0, 1, 2]), np.arange(4), 0.001)
    found = rank_agreement(pairs, 0.0, 0.05)
    assert found.estimate == pytest.approx(5 / 6) and found.high == 1
    assert rank_agreement(of_means(np.zeros(4), np.arange(4)), 0.0, 0.05).p_value == 1
    with pytest.raises(ValueError, match="at least one pair"):
        rank_agreement([], 0.0, 0.05)


@pytest.mark.parametrize(
    ("second", "level"),
    [((0.001, 0, 20.001, 20), 0.5), ((0, 0, 0, 0), 0.0), ((20, 20, 20, 60), 0.0)],
)
def test_wrong_verdicts_are_rare(second: tuple[float, ...], level: float) -> None:
    """Tau is at most the level, by pairs that are nearly equal in the second outcome."""
    rng, wrong = np.random.default_rng(0), 0
    for _ in range(1000):
        gaps = rng.normal(np.array([np.arange(4) * 20.0, second]))
        pairs: list[PairDifferences] = []
        for i, j in PAIRS:
            apart = gaps[:, i] - gaps[:, j]
            p_values = 2 * scipy.stats.norm.sf(np.abs(apart) / np.sqrt(2))
            one, other = (difference(*of) for of in zip(apart, p_values, strict=True))
            pairs.append((one, other))
        wrong += rank_agreement(pairs, level, 0.05).p_value < 0.05
    assert wrong / 1000 < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 1000)


def _taus(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """[...]: tau of means [..., num_arms]."""
    signs = [
        np.sign(first[..., i] - first[..., j]) * np.sign(second[..., i] - second[..., j])
        for i, j in PAIRS
    ]
    return np.mean(signs, axis=0)


def test_bootstrap_and_jackknife_over_seeds_are_wrong_too_often() -> None:
    """Why pairs are tested: four arms with 3 seeds, of which two pairs are nearly equal in the
    second outcome, so that tau is 1/3; both find it above 0.5."""
    rng, seeds, trials = np.random.default_rng(0), 3, 300
    wrong = {"bootstrap": 0, "jackknife": 0}
    for _ in range(trials):
        means = [np.arange(4) * 20.0, np.array([0.001, 0, 20.001, 20])]
        runs = [rng.normal(of, size=(seeds, 4)) for of in means]
        draws = rng.integers(seeds, size=(400, seeds, 4))
        drawn = [np.take_along_axis(of[None], draws, axis=1).mean(axis=1) for of in runs]
        wrong["bootstrap"] += np.quantile(_taus(*drawn), 0.025) > 0.5
        whole = _taus(*(of.mean(axis=0) for of in runs))
        without = [
            _taus(*(np.delete(of, seed, axis=0).mean(axis=0) for of in runs))
            for seed in range(seeds)
        ]
        pseudo = seeds * whole - (seeds - 1) * np.array(without)
        half = scipy.stats.t.ppf(0.975, seeds - 1) * pseudo.std(ddof=1) / np.sqrt(seeds)
        wrong["jackknife"] += pseudo.mean() - half > 0.5
    assert min(wrong.values()) / trials > 0.1
