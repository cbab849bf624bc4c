"""Differences between arms, and the verdicts that follow."""

import re
from dataclasses import replace
from functools import partial
from math import inf

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from statsmodels.stats.power import TTestPower

from harness.analysis.comparison.differences import AVERAGE
from harness.analysis.statistics.bootstrap import Difference
from harness.analysis.statistics.multiple_testing import benjamini_hochberg, holm
from harness.experiment.expectation import Comparison, Equality
from harness.leaderboard.build import experiment_comparer
from harness.leaderboard.ranks import with_ties
from harness.report.difference_tables import every_column
from harness.report.pairwise import pairwise
from harness.report.run_checks import constant_labels, constant_runs
from harness.report.threats import threats
from harness.report.verdict import TOO_MANY, Claim, judge
from tests.made_up_results import pairs_of, table_of


def claim(found, *single_runs, adjusted=None):
    """An expected difference in the average."""
    return Claim(Comparison(better="a", worse="b"), found, single_runs, adjusted)


@pytest.mark.parametrize(
    ("low", "high", "word"),
    [(0.1, 2.0, "confirmed"), (-2.0, -0.1, "refuted"), (-1.0, 3.0, "inconclusive")],
)
def test_judge_by_where_the_interval_lies(low, high, word):
    found = Difference(estimate=1.0, low=low, high=high, p_value=0.5, num_seeds=2)
    assert judge(claim(found)).word == word


def test_one_pretraining_seed_is_inconclusive():
    found = Difference(estimate=1.0, low=0.5, high=1.5, p_value=0.002, num_seeds=1)
    verdict = judge(claim(found))
    assert verdict.word == "inconclusive"
    assert "one pretraining seed" in verdict.reason
    verdict = judge(claim(found, "b"))
    assert verdict.reason.startswith("b is a checkpoint of one pretraining run: the interval")


def test_one_of_several_claims_must_hold_as_such():
    found = Difference(estimate=1.0, low=0.1, high=1.9, p_value=0.03, num_seeds=3)
    one = claim(found, adjusted=0.06)
    assert judge(one).word == "inconclusive"
    assert "Holm's correction" in judge(one).reason
    assert judge(replace(one, adjusted=0.04)).word == "confirmed"


@pytest.mark.parametrize(
    ("low", "high", "reason"),
    [
        (3.5, 9.0, "the interval excludes differences of 3 points and less, but p is not below"),
        (-9.0, -3.5, "the interval excludes differences of 3 points and less, but p is not below"),
        (-2.0, 2.5, "the interval excludes differences of 3 points and more, but p is not below"),
        (2.0, 9.0, "differences within and beyond 3 points are both possible"),
        (-9.0, 9.0, "differences within and beyond 3 points are both possible"),
    ],
)
def test_an_undecided_equality_says_what_its_interval_excludes(low, high, reason):
    found = Difference((low + high) / 2, low=low, high=high, p_value=0.03, num_seeds=4)
    equality = Equality(first="a", second="b", margin=3)
    verdict = judge(Claim(equality, found, (), adjusted=0.06))
    assert verdict.word == "inconclusive" and verdict.reason.startswith(reason)


@pytest.mark.parametrize(("high", "more"), [(2.9, ""), (3.1, ", as does the 90 % interval")])
def test_an_equality_is_confirmed_by_the_narrower_interval(high, more):
    found = Difference(0.5, low=-2.0, high=high, p_value=0.03, num_seeds=29)
    verdict = judge(Claim(Equality(first="a", second="b", margin=3), found))
    start = "two one-sided tests exclude differences of 3 points and more"
    assert verdict.word == "confirmed" and verdict.reason.startswith(f"{start}{more}")
    assert ("90 %" in verdict.reason) == bool(more)
    at_look = Claim(Equality(first="a", second="b", margin=3), found, look="look 1 of 2")
    assert "90 %" not in judge(at_look).reason


@pytest.mark.parametrize("examples", [0.0, 0.1])
def test_an_inconclusive_difference_names_the_seeds_that_would_show_it(examples):
    """At the number named, the power of a test of this difference is 80 %, by simulation."""
    sd, size = 2.0, 1.5
    variance = 2 * sd**2 / 3
    found = Difference(size, -1.0, 4.0, 0.2, 3, seed_variance=variance, example_variance=examples)
    text = judge(claim(found)).reason
    (needed,) = map(int, re.findall(r"about (\d+) seeds per arm would show a difference", text))
    assert judge(claim(found)).seeds_needed == needed
    rng = np.random.default_rng(0)
    shift = size + np.sqrt(examples) * rng.standard_normal(4000)
    first = sd * rng.standard_normal((4000, needed)) + shift[:, None]
    second = sd * rng.standard_normal((4000, needed))
    error = np.sqrt((first.var(axis=1, ddof=1) + second.var(axis=1, ddof=1)) / needed + examples)
    shown = (first.mean(axis=1) - second.mean(axis=1)) / error > 1.96 + 2.4 / (2 * needed - 2)
    assert np.mean(shown) == pytest.approx(0.8, abs=0.03)


@pytest.mark.parametrize("size", [1.0, 1.5, 2.5])
def test_arms_compared_seed_by_seed_need_the_seeds_of_the_paired_test(size):
    """Differences with a deviation of 1 between seeds: 80 % power at the number named, and not with
    fewer; as of two independent arms, they were one too few, with 71 % for 1.5."""
    found = Difference(size, -1.0, size + 1.0, 0.2, num_seeds=2, seed_variance=1 / 2, sides=1)
    (needed,) = map(int, re.findall(r"about (\d+) seeds per arm would", judge(claim(found)).reason))
    power = [TTestPower().power(size, seeds, 0.05) for seeds in (needed, needed - 1)]
    assert power[0] >= 0.8 > power[1]


def test_the_level_of_holms_correction_needs_more_seeds():
    found = Difference(0.75, -0.3, 1.8, 0.1, 4, seed_variance=0.27)

    def needed(level):
        text = judge(replace(claim(found), level=level)).reason
        return int(re.findall(r"about (\d+) seeds", text)[0])

    assert (needed(0.05), needed(0.005)) == (17, 28)
    after_holm = replace(claim(replace(found, low=0.1), adjusted=0.06), level=0.005)
    assert "about 28 seeds per arm" in judge(after_holm).reason


def test_decisions_and_steps_in_the_other_order_lack_no_seeds():
    found = Difference(1.0, 0.1, 2.0, 0.01, 3, seed_variance=0.3)
    assert judge(claim(found)).seeds_needed is None
    turned = judge(replace(claim(found), reversed_steps=["b > a"]))
    assert turned.word == "inconclusive" and turned.seeds_needed is None
    enough = Difference(2.0, -0.1, 4.1, 0.06, 30, seed_variance=0.01)
    assert judge(claim(enough)).seeds_needed is None


def test_a_tiny_difference_takes_more_seeds_than_anybody_runs():
    found = Difference(0.0, -1.0, 1.0, 1.0, 3, seed_variance=0.3)
    verdict = judge(claim(found))
    assert "more than 1,000 seeds per arm would show" in verdict.reason
    assert verdict.seeds_needed == TOO_MANY


def test_more_seeds_do_not_help_where_examples_are_too_few():
    found = Difference(1.0, -1.0, 3.0, 0.3, 3, seed_variance=0.1, example_variance=1.0)
    expected = "the interval includes zero; more seeds would not show a difference of this size"
    verdict = judge(claim(found))
    assert verdict.reason == f"{expected} with these examples" and verdict.seeds_needed == inf


def test_claims_are_adjusted_among_themselves_and_the_screen_among_all(fabricate):
    data = fabricate({"a": 0.6, "b": 0.7, "c": 0.8}, expect=[("c", "a"), ("b", "a")])
    pairs = pairs_of(data, table_of(data))
    assert [pair.claim for pair in pairs[:2]] == pytest.approx(
        holm([pair.average.p_value for pair in pairs[:2]])
    )
    assert pairs[2].claim is None
    for averages in (True, False):
        names = [name for name in pairs[0].differences if (name == AVERAGE) == averages]
        alone = [pair.differences[name].p_value for pair in pairs for name in names]
        screens = [pair.screen[name] for pair in pairs for name in names]
        assert screens == pytest.approx(benjamini_hochberg(alone))


def test_ranks_and_adjusted_p_of_averages_agree(fabricate):
    data = fabricate({f"arm{i}": 0.6 + 0.04 * i for i in range(6)}, seeds=(3, 1), examples=80)
    table = table_of(data)
    compared = experiment_comparer(data, table)
    ranks = {row.name: row.rank for row in with_ties(table, compared).rows}
    assert len(set(ranks.values())) > 1
    best = {rank: arm for arm, rank in reversed(ranks.items())}
    pairs = {frozenset((p.first, p.second)): p for p in pairwise(data, table, compared)}

    def significant(arm, other):
        return pairs[frozenset((arm, other))].screen[AVERAGE] < 0.05

    assert all(significant(arm, best[rank - 1]) for rank, arm in best.items() if rank > 1)
    others = {arm: best[rank] for arm, rank in ranks.items() if best[rank] != arm}
    assert not any(significant(arm, other) for arm, other in others.items())


def test_columns_of_shared_runs_have_no_difference(fabricate):
    """The twin differs from `a` in sst2 alone."""
    data = fabricate({"a": 0.6, "b": 0.7, "twin": 0.8})
    results = data.scores
    shared = (results["arm"] == "a") & (results["task"] != "sst2")
    own = (results["arm"] != "twin") | (results["task"] == "sst2")
    both = pd.concat([results[own], results[shared].assign(arm="twin")])
    pairs = pairs_of(data.but(scores=both), table_of(data.but(scores=both)))
    found = {(pair.first, pair.second): pair for pair in pairs}
    twins = found["a", "twin"]
    assert {name for name, one in twins.differences.items() if one} == {"sst2", AVERAGE}
    assert set(twins.screen) == {"sst2", AVERAGE}
    columns = [(pair, name) for pair in pairs for name in pair.screen if name != AVERAGE]
    assert len(columns) == 3 * 3 - 2
    p_values = [pair.differences[name].p_value for pair, name in columns]
    screens = [pair.screen[name] for pair, name in columns]
    assert screens == pytest.approx(benjamini_hochberg(p_values))
    assert [row[1] for row in every_column([twins]).rows] == ["sst2", AVERAGE]


def test_a_single_common_seed_is_inconclusive(fabricate):
    """Each task has two seeds an arm, and the average but one that is there on both."""
    data = fabricate({"good": 0.95, "bad": 0.55}, expect=[("good", "bad")], tasks=("sst2", "mrpc"))
    lost = ("good-sst2-0-", "good-mrpc-1-")
    rest = data.scores[~data.scores["key"].str.startswith(lost)]
    (pair,) = pairs_of(data.but(scores=rest), table_of(data))
    assert [found.num_seeds for found in pair.differences.values()] == [2, 2, 1]
    assert pair.average.low > 0
    assert "one pretraining seed" in judge(claim(pair.average)).reason
    assert pair.claim is None
    assert set(pair.screen) == {"sst2", "mrpc"}


def test_single_checkpoints_do_not_change_the_adjusted_p_of_the_rest(fabricate):
    data = fabricate({"a": 0.7, "b": 0.72, "lucky": 0.99})
    one = (data.scores["arm"] != "lucky") | (data.scores["pretrain_seed"] == 0)
    with_lucky = pairs_of(data.but(scores=data.scores[one]), table_of(data))
    two = data.scores["arm"] != "lucky"
    (alone,) = pairs_of(data.but(scores=data.scores[two], arms=["a", "b"]), table_of(data))
    assert with_lucky[0].screen == alone.screen
    assert not with_lucky[1].screen and not with_lucky[2].screen


@pytest.mark.parametrize("most", [60, 3])
def test_pairs_with_the_first_ranked_arm_are_adjusted_for_all_pairs(fabricate, monkeypatch, most):
    """Of four arms three pairs are shown, and six count; those not compared as if p were 1."""
    data = fabricate({"a": 0.7, "b": 0.7, "c": 0.75, "d": 0.8}, tasks=("sst2",))
    every = pairs_of(data, table_of(data))
    monkeypatch.setattr("harness.report.pairwise.MANY_ARMS", 3)
    monkeypatch.setattr("harness.report.pairwise.MAX_ROWS", most)
    table = table_of(data)
    shown = pairs_of(data, table)
    assert [pair.first for pair in shown] == [table.rows[0].name] * 3
    if most == 60:
        adjusted = {frozenset((p.first, p.second)): p.screen for p in every}
        for pair in shown:
            assert pair.screen == pytest.approx(adjusted[frozenset((pair.first, pair.second))])
    else:
        for name in ("sst2", AVERAGE):
            p_values = [pair.differences[name].p_value for pair in shown]
            expected = benjamini_hochberg([*p_values, *[1.0] * 3])[:3]
            assert [pair.screen[name] for pair in shown] == pytest.approx(expected)


def test_arms_of_the_same_checkpoints_are_paired(fabricate):
    """The interval is that of scipy's paired test then, else of Welch's, but for the examples."""
    skills = {"a": 0.9, "b": 0.7}
    apart = fabricate(skills, seeds=(5, 1), examples=4000, tasks=("sst2",))
    together = apart.but(differences={"evaluate.adaptation": {"a": "full", "b": "lora"}})
    scores = apart.scores.pivot_table("value", "pretrain_seed", "arm", sort=False) * 100
    for data, test in (
        (apart, partial(scipy.stats.ttest_ind, equal_var=False)),
        (together, scipy.stats.ttest_rel),
    ):
        (pair,) = pairs_of(data, table_of(data))
        interval = test(scores["a"], scores["b"]).confidence_interval()
        assert pair.average.high - pair.average.low >= 0.999 * (interval.high - interval.low)
        assert pair.average.low == pytest.approx(interval.low, abs=0.3)


def test_without_an_average_nothing_is_concluded():
    verdict = judge(claim(None))
    assert verdict.word == "inconclusive"
    assert "has an average yet" in verdict.reason


def test_a_better_arm_is_found_and_points_the_expected_way(fabricate):
    data = fabricate({"good": 0.95, "bad": 0.6}, expect=[("bad", "good")])
    (pair,) = pairs_of(data, table_of(data))
    assert (pair.first, pair.second, pair.expected) == ("bad", "good", True)
    assert judge(claim(pair.average)).word == "refuted"
    (turned,) = pairs_of(data.but(expect=[("good", "bad")]), table_of(data))
    assert judge(claim(turned.average)).word == "confirmed"
    assert turned.average.estimate == pytest.approx(-pair.average.estimate)


def test_estimates_are_the_differences_of_the_leaderboard(fabricate):
    data = fabricate({"good": 0.9, "bad": 0.7})
    table = table_of(data)
    (pair,) = pairs_of(data, table)
    good, bad = ({row.name: row for row in table.rows}[name] for name in ("good", "bad"))
    assert pair.average.estimate == pytest.approx(good.average.mean - bad.average.mean)
    for column, first, second in zip(table.columns, good.scores, bad.scores, strict=True):
        assert pair.differences[column.name].estimate == pytest.approx(first.mean - second.mean)


def test_an_average_of_two_metrics_agrees_with_the_leaderboard(fabricate):
    tasks = ("mnli", "qqp", "qnli", "sst2", "cola", "stsb", "mrpc", "rte", "wnli")
    data = fabricate({"good": 0.9, "bad": 0.7}, tasks=tasks)
    table = table_of(data, "glue_server9")
    (pair,) = pairs_of(data, table)
    good, bad = table.rows
    assert [column.metrics for column in table.columns].count(("f1", "accuracy")) == 2
    assert pair.average.estimate == pytest.approx(good.average.mean - bad.average.mean)


def test_every_pair_is_compared_once_and_expected_ones_first(fabricate):
    data = fabricate({"a": 0.6, "b": 0.7, "c": 0.8}, expect=[("c", "a")])
    pairs = pairs_of(data, table_of(data))
    assert [(p.first, p.second) for p in pairs] == [("c", "a"), ("a", "b"), ("b", "c")]


def test_an_arm_without_a_task_has_no_average_and_no_such_column(fabricate):
    data = fabricate({"good": 0.9, "bad": 0.7})
    lost = (data.scores["arm"] == "bad") & (data.scores["task"] == "sst2")
    data = data.but(scores=data.scores[~lost])
    (pair,) = pairs_of(data, table_of(data))
    assert pair.average is None
    assert pair.differences["sst2"] is None
    assert pair.differences["mrpc"] is not None


def test_differences_that_are_not_there_are_not_counted(fabricate):
    """Of 3 pairs and 4 columns, two pairs lack a column and the average."""
    data = fabricate({"a": 0.9, "b": 0.8, "c": 0.7})
    lost = (data.scores["arm"] == "c") & (data.scores["task"] == "sst2")
    data = data.but(scores=data.scores[~lost])
    table = table_of(data)
    lines = threats(data, table, pairs_of(data, table), {})
    assert any(line.startswith("8 differences are shown") for line in lines)


def test_a_lost_run_leaves_the_rest_comparable(fabricate):
    data = fabricate({"good": 0.95, "bad": 0.6})
    lost = data.scores["key"] == "bad-sst2-0-0"
    (pair,) = pairs_of(data.but(scores=data.scores[~lost]), table_of(data))
    assert judge(claim(pair.average)).word == "confirmed"


def test_runs_on_different_examples_are_refused(fabricate):
    data = fabricate({"good": 0.9, "bad": 0.7})

    def others(key):
        counts = data.counts(key)
        other = {"validation/labels": np.zeros(32, dtype=np.uint8)}
        return counts | other if key == "bad-sst2-1-0" else counts

    with pytest.raises(ValueError, match=r"same examples.*bad-sst2-1-0"):
        pairs_of(data.but(counts=others), table_of(data))


def test_groups_of_examples_are_resampled_as_one(fabricate):
    """Copies of an example add nothing to what it says; groups of one are examples."""
    data = fabricate({"good": 0.8, "bad": 0.7}, tasks=("sst2",), seeds=(2, 1))

    def interval(copies, groups=None):
        def counts(key):
            of = {name: array for name, array in data.counts(key).items() if "labels" not in name}
            found = {name: np.repeat(array, copies, axis=0) for name, array in of.items()}
            more = {} if groups is None else {"validation/groups": groups}
            return {"validation/labels": np.zeros(32, dtype=np.uint8), **found, **more}

        made = data.but(counts=counts)
        (pair,) = pairs_of(made, table_of(made))
        return pair.differences["sst2"]

    plain, copied = interval(1), interval(4)
    assert interval(1, np.arange(120)) == plain
    assert interval(4, np.repeat(np.arange(120), 4)) == plain
    assert copied.high - copied.low < plain.high - plain.low


def test_the_order_of_results_changes_nothing(fabricate):
    data = fabricate({"good": 0.9, "bad": 0.7})
    shuffled = data.but(scores=data.scores.sample(frac=1, random_state=1))
    assert pairs_of(data, table_of(data)) == pairs_of(shuffled, table_of(shuffled))


def test_constant_runs_are_found(fabricate):
    data = fabricate({"good": 0.9, "stuck": 0.7})

    # One class; one text, as of an extraction; one tag to every word of sentences of any length.
    one = [[1.0] * 120, ["none"] * 120, [np.array([2, 2])] * 60 + [np.array([2])] * 60]

    def stuck(key):
        frame = data.predictions(key)
        places = [f"stuck-mrpc-2-{place}" for place in (0, 1)] + ["stuck-mrpc-1-1"]
        return frame.assign(prediction=one[places.index(key)]) if key in places else frame

    found = list(constant_runs(data.but(predictions=stuck), table_of(data)))
    assert [seeds for _, _, seeds in found] == ["1.1", "2.0", "2.1"]
    assert {(arm, task) for arm, task, _ in found} == {("stuck", "mrpc")}


def test_answers_that_differ_are_not_constant(fabricate):
    data = fabricate({"good": 0.9})

    def tagged(key):
        frame = data.predictions(key)
        return frame.assign(prediction=[np.array([2, row % 2]) for row in range(len(frame))])

    assert not list(constant_runs(data.but(predictions=tagged), table_of(data)))


def test_splits_of_one_class_are_found(fabricate):
    data = fabricate({"a": 0.9, "b": 0.6})
    assert not list(constant_labels(data, table_of(data)))

    def of_one_class(key):
        rows = data.predictions(key)
        return rows.assign(label=1.0) if "sst2" in key else rows

    found = list(constant_labels(data.but(predictions=of_one_class), table_of(data)))
    assert found == [("sst2", "validation")]


def test_a_split_without_scores_does_not_affect_the_others(fabricate):
    data = fabricate({"a": 0.9, "b": 0.6}, tasks=("mnli",))
    gone = data.scores["split"] != "validation_mismatched"
    table = table_of(data)
    (pair,) = pairs_of(data.but(scores=data.scores[gone]), table)
    assert pair.differences["mnli_m"] is not None and pair.differences["mnli_mm"] is None
