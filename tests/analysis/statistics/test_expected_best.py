"""The expected best of n trials, against all draws there are, random ones and the paper's."""

import itertools

import numpy as np
import pytest

from harness.analysis.statistics.expected_best import expected_best


@pytest.mark.parametrize("scores", [[0.3], [0.2, 0.9], [0.5, 0.1, 0.5, 0.7], [-1.0, 0.4, 0.4, 0.0]])
def test_equals_the_enumeration_of_all_draws(scores: list[float]) -> None:
    means, variances = expected_best(np.array(scores))
    for n in range(1, len(scores) + 1):
        bests = [max(drawn) for drawn in itertools.product(scores, repeat=n)]
        assert means[n - 1] == pytest.approx(np.mean(bests))
        assert variances[n - 1] == pytest.approx(np.var(bests))


@pytest.mark.parametrize("scores", [[0.3], [0.2, 0.9], [0.5, 0.1, 0.5, 0.7], [-1.0, 0.4, 0.4, 0.0]])
def test_without_replacement_equals_the_enumeration_of_all_choices(scores: list[float]) -> None:
    means, variances = expected_best(np.array(scores), replacement=False)
    for n in range(1, len(scores) + 1):
        bests = [max(drawn) for drawn in itertools.combinations(scores, n)]
        assert means[n - 1] == pytest.approx(np.mean(bests))
        assert variances[n - 1] == pytest.approx(np.var(bests), abs=1e-12)


def test_without_replacement_it_is_unbiased_and_with_it_low() -> None:
    """Of 8 normal trials: the bias in docs/statistics.md."""
    rng = np.random.default_rng(0)
    trials = rng.standard_normal((4000, 8))
    with_it, without = (
        np.mean([expected_best(row, replacement=drawn)[0] for row in trials], axis=0)
        for drawn in (True, False)
    )
    truth = rng.standard_normal((40_000, 8))
    for n in (1, 4, 8):
        best = truth[:, :n].max(axis=1).mean()
        assert without[n - 1] == pytest.approx(best, abs=0.04)
    assert truth.max(axis=1).mean() - with_it[7] == pytest.approx(0.24, abs=0.04)
    assert truth[:, :4].max(axis=1).mean() - with_it[3] == pytest.approx(0.14, abs=0.04)


def test_many_trials_stay_finite() -> None:
    means, _ = expected_best(np.arange(1500.0), replacement=False)
    assert means[-1] == 1499
    assert np.all(np.diff(means) > 0)


def test_equals_random_draws() -> None:
    rng = np.random.default_rng(0)
    scores = rng.normal(size=30)
    means, variances = expected_best(scores)
    for n in (1, 7, 30):
        bests = rng.choice(scores, size=(20_000, n)).max(axis=1)
        assert means[n - 1] == pytest.approx(bests.mean(), abs=0.03)
        assert variances[n - 1] == pytest.approx(bests.var(), abs=0.03)


def test_equals_a_worked_example() -> None:
    means, _ = expected_best(np.array([0.72, 0.81, 0.70, 0.80, 0.75]))
    assert means == pytest.approx([0.756, 0.780, 0.792, 0.7986, 0.8025], abs=5e-4)
    means, _ = expected_best(np.array([0.72, 0.81, 0.70, 0.80, 0.75]), replacement=False)
    assert means == pytest.approx([0.756, 0.786, 0.801, 0.808, 0.810], abs=5e-4)


@pytest.mark.parametrize("scores", [[], [0.5, np.nan]])
def test_nothing_and_what_is_not_finite_are_refused(scores: list[float]) -> None:
    with pytest.raises(ValueError, match="at least one score, all finite"):
        expected_best(np.array(scores))
