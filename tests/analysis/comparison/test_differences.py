"""Differences of few seeds against an analysis of variance of all arms, and by hand.

Scores are the same on every resample, so that all uncertainty is that of the seeds.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
import scipy.stats
import statsmodels.api as sm

from harness.analysis.columns import suite_columns
from harness.analysis.comparison.differences import AVERAGE, Comparer, Outcome
from harness.analysis.comparison.seed_scores import compared_by_seeds
from harness.analysis.statistics.bootstrap import Difference, Runs

Scores = Sequence[float] | np.ndarray
RESIDUALS = {"a": (1, -1, 0), "b": (1, -1, 0), "c": (-1, 1, 0), "d": (-1, 1, 0)}
"""Without effects of arms and of seeds; the rest of a is that of b."""
FAR = {"a": (50, 52), "b": (60, 61), "c": (40, 41), "d": (30, 42), "e": (20, 35), "f": (70, 90)}
"""Of two seeds each, with variances of 2, 0.5, 0.5, 72, 112.5 and 200."""


def compared(arms: Mapping[str, Scores], *paired: str) -> Outcome:
    """Arms with scores x 100 of each seed, of which those in `paired` have the same checkpoints."""
    runs = {
        arm: {
            "sst2": Runs(
                np.arange(len(scores)),
                np.zeros(len(scores)),
                {"validation/accuracy": np.tile(np.array(scores) / 100, (3, 1))},
            )
        }
        for arm, scores in arms.items()
    }
    layout = suite_columns("glue-v1", tasks=["sst2"])
    return Comparer(runs, layout, lambda *pair: set(pair) <= set(paired)).outcomes[AVERAGE]


def check(found: Difference | None, estimate: Any, variance: float, freedom: float) -> None:
    """That the interval and p are Student's."""
    assert found is not None
    error = np.sqrt(variance)
    half = scipy.stats.t.ppf(0.975, freedom) * error
    assert (found.low, found.high) == pytest.approx((estimate - half, estimate + half))
    p_value = 2 * scipy.stats.t.sf(abs(estimate) / error, freedom)
    assert found.p_value == pytest.approx(p_value, rel=1e-6)


@pytest.mark.parametrize(
    "weights", [{"a": 1, "b": -1}, {"a": 1, "b": -1, "c": 1, "d": -1}, {"a": 2, "b": -2, "c": 0}]
)
def test_three_seeds_of_the_same_checkpoints_have_the_variance_of_a_two_way_layout(
    weights: Mapping[str, float],
) -> None:
    """The contrast of a linear model of arms and seeds, where that of these arms does not vary."""
    seeds, levels = np.array([0.0, 4.0, -3.0]), {"a": 60, "b": 55, "c": 50, "d": 52}
    arms = {arm: levels[arm] + seeds + RESIDUALS[arm] for arm in RESIDUALS}
    design = np.hstack([np.repeat(np.eye(4), 3, axis=0), np.tile(np.eye(3)[:, 1:], (4, 1))])
    model = sm.OLS(np.concatenate(list(arms.values())), design).fit()
    test = model.t_test([*(weights.get(arm, 0) for arm in arms), 0, 0])
    found = compared(arms, *arms).contrast(weights)
    assert found is not None and found.estimate == pytest.approx(test.effect[0])
    assert (found.low, found.high) == pytest.approx(tuple(test.conf_int()[0]))
    assert found.p_value == pytest.approx(float(test.pvalue), rel=1e-6)


def test_four_seeds_of_the_same_checkpoints_have_their_own_variance() -> None:
    rng = np.random.default_rng(0)
    arms = {arm: rng.normal(50, sd, 4) for arm, sd in {"a": 1, "b": 1, "c": 4, "d": 4}.items()}
    test = scipy.stats.ttest_rel(arms["a"], arms["b"])
    found = compared(arms, *arms).contrast({"a": 1, "b": -1})
    assert found is not None and found.p_value == pytest.approx(test.pvalue, rel=1e-6)
    assert (found.low, found.high) == pytest.approx(tuple(test.confidence_interval()))


def _of_all(arms: Mapping[str, Scores]) -> tuple[float, float]:
    """The mean of the variances of arms of two seeds, and Satterthwaite's degrees of freedom."""
    variances = np.array([np.var(scores, ddof=1) for scores in arms.values()])
    return variances.mean(), variances.sum() ** 2 / (variances**2).sum()


@pytest.mark.parametrize("weights", [{"a": 1, "b": -1}, {"b": 1, "c": -2}])
def test_two_seeds_have_the_mean_variance_of_all_arms(weights: Mapping[str, float]) -> None:
    """Welch's test with the variance and the degrees of freedom of both arms replaced."""
    mean, freedom = _of_all(FAR)
    parts = np.array([weight**2 * mean / 2 for weight in weights.values()])
    estimate = sum(weight * np.mean(FAR[arm]) for arm, weight in weights.items())
    welch = parts.sum() ** 2 / (parts**2 / freedom).sum()
    check(compared(FAR).contrast(weights), estimate, parts.sum(), welch)
    values = {arm: np.array(scores, float) for arm, scores in FAR.items()}
    check(compared_by_seeds(values, 0.95)(weights), estimate, parts.sum(), welch)


def test_an_arm_of_two_seeds_makes_the_spread_of_both_unknown() -> None:
    """b has five, but a difference is of both."""
    many = {"b": (51.0, 51.5, 52, 51.2, 51.8), "e": (38.0, 39, 40, 41, 42)}
    arms = {"a": (50.0, 50.2), **many}
    variances = np.array([np.var(scores, ddof=1) for scores in arms.values()])
    freedoms = np.array([1, 4, 4])
    mean, freedom = variances.mean(), variances.sum() ** 2 / (variances**2 / freedoms).sum()
    parts = np.array([mean / 2, mean / 5])
    own = np.array([freedom, max(freedom, 4)])
    estimate = np.mean(arms["a"]) - np.mean(arms["b"])
    welch = parts.sum() ** 2 / (parts**2 / own).sum()
    check(compared(arms).contrast({"a": 1, "b": -1}), estimate, parts.sum(), welch)
    plain = scipy.stats.ttest_ind(many["b"], many["e"], equal_var=False)
    found = compared(arms).contrast({"b": 1, "e": -1})
    assert found is not None and found.p_value == pytest.approx(plain.pvalue, rel=1e-6)


def test_arms_of_the_same_checkpoints_may_add_up() -> None:
    """a + b - 2 c, where a and b are of the same two checkpoints: their sum may vary by 2 squared
    times the variance of one."""
    mean, freedom = _of_all(FAR)
    parts = np.array([4 * mean / 2, 4 * mean / 2])
    estimate = np.mean(FAR["a"]) + np.mean(FAR["b"]) - 2 * np.mean(FAR["c"])
    found = compared(FAR, "a", "b").contrast({"a": 1, "b": 1, "c": -2})
    check(found, estimate, parts.sum(), parts.sum() ** 2 / (parts**2 / freedom).sum())


def test_a_level_has_the_variance_of_one_arm() -> None:
    mean, freedom = _of_all(FAR)
    found = compared(FAR).above("a", 30)
    check(found, np.mean(FAR["a"]) - 30, mean / 2, freedom)


def test_intervals_end_where_the_scores_do() -> None:
    """Two seeds that are far apart: scores from 0 to 100, and gaps of two from -100 to 100."""
    far = {"a": (5.0, 95.0), "b": (90.0, 10.0)}
    outcome = compared(far)
    found = outcome.contrast({"a": 1, "b": -1})
    assert found is not None and (found.low, found.high) == (-100, 100)
    twice = outcome.contrast({"a": 2, "b": -2})
    assert twice is not None and (twice.low, twice.high) == (-200, 200)
    level = outcome.above("a", 30)
    assert level is not None and (level.low, level.high) == (-30, 70)
    runs = {arm: {**outcome._runs[arm], "qnli": outcome._runs[other]["sst2"]}
            for arm, other in (("a", "b"), ("b", "a"))}  # fmt: skip
    minus = suite_columns("glue-v1", tasks=["qnli"]).terms
    gap = Outcome(runs, outcome.terms, lambda *_: False, minus)
    level, found = gap.above("a", 30), gap.contrast({"a": 1, "b": -1})
    assert level is not None and (level.low, level.high) == (-130, 70)
    assert found is not None and (found.low, found.high) == (-200, 200)


def test_correlations_reach_from_minus_100_to_100() -> None:
    seeds = np.arange(2), np.zeros(2)
    scores = {"a": (-0.9, 0.9), "b": (0.8, -0.8)}
    runs = {
        arm: {
            "cola": Runs(*seeds, {"validation/matthews": np.tile(own, (3, 1))}),
            "sst2": Runs(*seeds, {"validation/accuracy": np.tile(np.abs(own), (3, 1))}),
        }
        for arm, own in scores.items()
    }
    cola, sst2 = (suite_columns("glue-v1", tasks=[task]).terms for task in ("cola", "sst2"))
    outcome = Outcome(runs, cola, lambda *_: False)
    found, level = outcome.contrast({"a": 1, "b": -1}), outcome.above("a", 30)
    assert found is not None and (found.low, found.high) == (-200, 200)
    assert level is not None and (level.low, level.high) == (-130, 70)
    for terms, minus, ends in ((cola, sst2, (-200, 100)), (sst2, cola, (-100, 200))):
        gap = Outcome(runs, terms, lambda *_: False, minus).above("a", 0)
        assert gap is not None and (gap.low, gap.high) == ends


def test_parts_of_a_gap_of_other_seeds_have_no_gap() -> None:
    """Else the score of one network would be taken from that of another."""
    runs = compared({"a": (50, 52, 60)})._runs["a"]["sst2"]
    other = Runs(runs.pretrain_seeds + 1, runs.finetune_seeds, runs.scores)
    first, minus = (suite_columns("glue-v1", tasks=[task]).terms for task in ("sst2", "qnli"))
    for part, known in ((runs, True), (other, False)):
        gap = Outcome({"a": {"sst2": runs, "qnli": part}}, first, lambda *_: False, minus)
        assert (gap.above("a", 0) is not None) == known


@pytest.mark.parametrize("lost", [0, 1])
def test_arms_whose_seeds_differ_are_not_paired(lost: int) -> None:
    """Of the same checkpoints, but one of them lacks a seed that the other has."""
    rng = np.random.default_rng(1)
    first, second = rng.normal(50, 3, 5), rng.normal(40, 3, 5)
    runs = compared({"a": first, "b": second}, "a", "b")._runs
    own = runs["b"]["sst2"]
    shifted = Runs(own.pretrain_seeds + 1, own.finetune_seeds, own.scores)
    outcome = Outcome({"a": runs["a"], "b": {"sst2": shifted if lost else own}},
                      suite_columns("glue-v1", tasks=["sst2"]).terms, lambda *_: True)  # fmt: skip
    test = (
        scipy.stats.ttest_ind(first, second, equal_var=False)
        if lost
        else scipy.stats.ttest_rel(first, second)
    )
    found = outcome.contrast({"a": 1, "b": -1})
    assert found is not None and found.p_value == pytest.approx(test.pvalue, rel=1e-6)
