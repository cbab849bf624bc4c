"""Runs that fall into two groups in comparisons, verdicts and threats."""

import numpy as np
import pytest

from harness.analysis.columns import suite_columns
from harness.analysis.comparison.differences import AVERAGE, Comparer
from harness.analysis.comparison.resampling import REPLICATES
from harness.analysis.statistics.bootstrap import Difference, Runs
from harness.analysis.statistics.two_groups import Split, TwoGroups
from harness.experiment.expectation import Comparison
from harness.report.two_groups import split_runs
from harness.report.verdict import Claim, judge

GROUPS = TwoGroups("a", few=1, runs=3, distance=34.5)
SCORES = {
    "a": [0.38, 0.04, 0.39],
    "b": [0.35, 0.365, 0.342],
    "c": [0.30, 0.31, 0.292],
    "d": [0.301, 0.288, 0.297],
}


def _compared(arms, *, paired=False):
    """A function that compares arms on one column, without variance of examples."""
    layout = suite_columns("glue-v1", tasks=["sst2"])
    seeds = np.arange(5)
    runs = {
        arm: {
            "sst2": Runs(
                seeds[: len(scores)],
                np.zeros(len(scores)),
                {"validation/accuracy": np.tile(np.array(scores), (1 + REPLICATES, 1))},
            )
        }
        for arm, scores in arms.items()
    }
    return Comparer(runs, layout, lambda *_: paired)


def test_other_arms_in_two_groups_widen_the_interval_of_a_pair():
    alone = _compared({arm: SCORES[arm] for arm in "bc"})("b", "c")[AVERAGE]
    beside = _compared(SCORES)("b", "c")[AVERAGE]
    assert alone.p_value < 0.05 < beside.p_value
    assert beside.split is None
    assert beside.estimate == alone.estimate


def test_a_difference_names_the_arm_whose_runs_fall_into_two_groups():
    compared = _compared(SCORES)
    (group,) = compared("a", "b")[AVERAGE].split.groups
    assert (group.arm, group.few, group.runs) == ("a", 1, 3)
    assert group.distance == pytest.approx(34.5)
    assert compared("b", "a")[AVERAGE].split == compared("a", "b")[AVERAGE].split
    assert compared("c", "d")[AVERAGE].split is None


def test_a_checkpoint_that_fails_in_every_arm_is_no_group_of_their_differences():
    arms = {arm: [*scores, scores[2] + 0.01, 0.05] for arm, scores in SCORES.items()}
    arms["a"][1], arms["c"][4], arms["d"][4] = 0.37, 0.02, 0.01
    found = _compared(arms, paired=True)("b", "c")[AVERAGE]
    assert found.split is None
    alone = _compared({arm: arms[arm] for arm in "bc"}, paired=True)("b", "c")[AVERAGE]
    assert found.p_value == pytest.approx(alone.p_value)
    assert _compared(arms)("b", "c")[AVERAGE].split


def test_groups_of_paired_arms_are_those_of_their_differences():
    """No run of b is far from the others of b: it is the difference that has two groups."""
    a, b = [0.80, 0.70, 0.60, 0.50, 0.40], [0.70, 0.601, 0.50, 0.402, 0.50]
    one = _compared({"a": a, "b": b}, paired=True)("a", "b")[AVERAGE]
    (group,) = one.split.groups
    assert (group.beside, group.few, group.runs) == (("a", "b"), 1, 5)
    assert group.distance == pytest.approx(10 - -10, abs=0.1)
    (sentence,) = split_runs([{"SST-2": one, AVERAGE: None}])
    assert "a minus b in SST-2 (1 of 5 is 19.9 points from the others). " in sentence


def test_groups_of_one_of_several_paired_arms_are_those_minus_their_mean():
    seeds = np.array([0.3, 0.2, 0.1, 0.0, 0.3])
    steady = np.array([0.5, 0.502, 0.501, 0.499, 0.503])
    arms = {
        "a": seeds + np.array([0.5, 0.5, 0.5, 0.5, 0.2]),
        "b": seeds + steady,
        "c": seeds + steady[::-1],
    }
    found = _compared(arms, paired=True)("a", "b")[AVERAGE]
    (sentence,) = split_runs([{"SST-2": found, AVERAGE: None}])
    named = "a minus the mean of 3 arms with the same seeds in SST-2"
    assert f"{named} (1 of 5 is 20.0 points from the others)" in sentence  # 30 x (1 - 1 / 3)


def test_two_seeds_take_the_variance_of_all_arms():
    two = {arm: scores[:2] for arm, scores in SCORES.items()}
    alone = _compared({arm: two[arm] for arm in "cd"})("c", "d")[AVERAGE]
    beside = _compared(two)("c", "d")[AVERAGE]
    assert beside.high > alone.high
    assert beside.split is None  # two runs are no two groups


@pytest.mark.parametrize(
    ("low", "expected"),
    [
        (
            -1.0,
            "the interval includes zero; runs of a (1 of 3 is 34.5 points from the others) fall "
            "into two groups",
        ),
        (
            0.5,
            "the interval lies above zero; runs of a (1 of 3 is 34.5 points from the others) fall "
            "into two groups; with 3 seeds, up to 63 % of an arm's runs may fail unseen",
        ),
    ],
)
def test_a_verdict_says_so(low, expected):
    found = Difference(2.0, low, 5.0, 0.2, num_seeds=3, split=Split((GROUPS,)))
    assert judge(Claim(Comparison(better="a", worse="b"), found)).reason == expected


def test_threats_name_arms_and_columns():
    one = Difference(2.0, -1.0, 5.0, 0.2, num_seeds=3, split=Split((GROUPS,)))
    found = [{"STS-B": one, "SST-2": None, AVERAGE: one}, {"STS-B": one.turned, AVERAGE: one}]
    (sentence,) = split_runs(found)
    assert sentence.startswith(
        "Runs that fall into two groups: a in STS-B (1 of 3 is 34.5 points from the others), "
        "a in the average (1 of 3 is 34.5 points from the others). An arm may show one of the "
    )
    assert not [*split_runs([{"STS-B": None, AVERAGE: Difference(1.0, 0.0, 2.0, 0.1)}])]
