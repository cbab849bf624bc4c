"""Aggregates over runs and tasks against loops, scipy and hand computation."""

import numpy as np
import pytest
import scipy.stats

from harness.analysis.statistics.aggregates import (
    interquartile_mean,
    performance_profile,
    probability_of_improvement,
)


def test_interquartile_mean_by_hand():
    scores = np.array([[0.0, 9.0], [1.0, 2.0], [3.0, 4.0], [5.0, -7.0]])
    assert interquartile_mean(scores) == pytest.approx((1 + 2 + 3 + 4) / 4)


def test_interquartile_mean_minds_no_outlier():
    scores = np.random.default_rng(0).random(40)
    far = scores.copy()
    far[scores.argmax()] = 1e6
    assert interquartile_mean(far) == interquartile_mean(scores)


def test_probability_of_improvement_by_loops_and_scipy():
    rng = np.random.default_rng(0)
    first, second = rng.integers(0, 5, (4, 3)) / 4, rng.integers(0, 5, (6, 3)) / 4
    wins = [
        np.mean([(a > b) + (a == b) / 2 for a in first[:, task] for b in second[:, task]])
        for task in range(3)
    ]
    assert probability_of_improvement(first, second) == pytest.approx(np.mean(wins))
    u = scipy.stats.mannwhitneyu(first, second, axis=0).statistic
    assert probability_of_improvement(first, second) == pytest.approx(np.mean(u / 24))


def test_probability_of_improvement_at_the_ends():
    high, low = np.ones((3, 2)), np.zeros((2, 2))
    assert probability_of_improvement(high, low) == 1
    assert probability_of_improvement(low, high) == 0
    assert probability_of_improvement(high, high) == 0.5


@pytest.mark.parametrize("shape", [(3, 4), (3,), (0, 2)])
def test_arms_need_runs_on_the_same_tasks(shape):
    with pytest.raises(ValueError, match="of the same tasks"):
        probability_of_improvement(np.zeros((3, 2)), np.zeros(shape))


def test_scores_must_be_finite():
    gap = np.array([[0.5, np.nan], [0.5, 0.5]])
    for aggregate in (
        interquartile_mean,
        lambda scores: performance_profile(scores, np.array([0.5])),
        lambda scores: probability_of_improvement(scores, scores),
    ):
        with pytest.raises(ValueError, match="must be finite, but 1 of 4 are not"):
            aggregate(gap)


def test_performance_profile_by_hand():
    scores = np.array([[0.1, 0.5], [0.5, 0.9]])
    profile = performance_profile(scores, np.array([0.0, 0.1, 0.5, 0.7, 1.0]))
    assert profile == pytest.approx([1.0, 0.75, 0.25, 0.25, 0.0])
    assert np.all(np.diff(profile) <= 0)
