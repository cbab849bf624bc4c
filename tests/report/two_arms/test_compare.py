"""Two arms of made-up results, against the report, statsmodels and counts by hand."""

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.multitest import multipletests

from harness.analysis.comparison.differences import AVERAGE
from harness.analysis.statistics.two_groups import Split, TwoGroups
from harness.experiment.declaration import Declaration
from harness.report.two_arms import compare
from harness.report.two_arms.arm_comparison import ArmComparison
from harness.report.two_arms.arm_order import compare_order
from harness.report.two_arms.compare import compare_arms
from tests.made_up_results import MadeUpResults, pairs_of, table_of

EVIL = "<script>alert(1)</script>"
SEEDS = (2, 1)
Fabricate = Callable[..., MadeUpResults]


@pytest.fixture
def results(fabricate: Fabricate) -> MadeUpResults:
    return fabricate({"good": 0.9, EVIL: 0.8, "poor": 0.6}, seeds=SEEDS)


def rows_of(results: MadeUpResults, arm: str, task: str) -> list[pd.DataFrame]:
    """The predictions of each seed."""
    return [results.predictions(f"{arm}-{task}-{seed}-0") for seed in range(SEEDS[0])]


@pytest.fixture
def comparison(results: MadeUpResults) -> ArmComparison:
    return compare_arms((results, "good"), (results, EVIL))


def test_differences_are_those_of_the_report(
    results: MadeUpResults, comparison: ArmComparison
) -> None:
    pairs = pairs_of(results, table_of(results))
    (pair,) = [one for one in pairs if (one.first, one.second) == ("good", EVIL)]
    assert comparison.differences == pair.differences
    means = table_of(results).to_frame().set_index("arm")
    frame = comparison.to_frame().set_index("column")
    for column in frame.index:
        for arm in ("good", EVIL):
            assert frame.loc[column, arm] == pytest.approx(means.loc[arm, column])
        expected = means.loc["good", column] - means.loc[EVIL, column]
        assert frame.loc[column, "difference"] == pytest.approx(expected)
    columns = frame.index.drop(AVERAGE)
    adjusted = multipletests(frame.loc[columns, "p_value"], method="holm")[1]
    assert frame.loc[columns, "p_holm"].to_numpy() == pytest.approx(adjusted)
    assert frame["p_holm"].isna().tolist() == [True] + [False] * len(columns)
    assert comparison.fields == {"pretrain.recipe": {"good": "good", EVIL: EVIL}}


def test_runs_in_two_groups_and_unseen_failures_are_noted(comparison: ArmComparison) -> None:
    groups = TwoGroups("good", few=1, runs=3, distance=34.5)
    found = comparison.differences[AVERAGE]
    assert found
    split = replace(found, num_seeds=3, split=Split((groups,)))
    text = str(replace(comparison, differences={**comparison.differences, AVERAGE: split}))
    assert "good in the average (1 of 3 is 34.5 points from the others)" in text
    assert "3 seeds may miss runs that fail: if 63 % of an arm's runs do" in text
    assert "fall into two groups" not in str(comparison)


def test_flipped_examples_are_right_in_every_seed_of_one_arm_only(
    results: MadeUpResults, comparison: ArmComparison
) -> None:
    """With two seeds, a majority is both; examples on which they differ are left out."""
    assert {task for task, _ in comparison.flips} == {"sst2", "mrpc"}  # stsb has no right answers
    for (task, _), found in comparison.flips.items():
        good, other = (
            np.all([rows["label"] == rows["prediction"] for rows in rows_of(results, arm, task)], 0)
            for arm in ("good", EVIL)
        )
        wrong, other_wrong = (
            np.all([rows["label"] != rows["prediction"] for rows in rows_of(results, arm, task)], 0)
            for arm in ("good", EVIL)
        )
        assert found.only_first == np.sum(good & other_wrong) > 0
        assert found.only_second == np.sum(other & wrong)
        assert found.examples == np.sum((good | wrong) & (other | other_wrong)) < len(good)


def test_of_several_splits_the_ones_without_a_test_are_named(comparison: ArmComparison) -> None:
    tested = comparison.flips["sst2", "validation"]
    flips = {("rte", "validation"): tested, ("rte", "axg"): replace(tested, test=None)}
    assert "- rte axg: no test, as examples" in str(replace(comparison, flips=flips))


def test_a_single_column_has_no_average_beside_it(fabricate: Fabricate) -> None:
    results = fabricate({"good": 0.9, "poor": 0.6}, tasks=["sst2"], seeds=SEEDS)
    table, *_ = compare_arms((results, "good"), (results, "poor")).tables()
    assert [row[0] for row in table.rows] == ["sst2 (acc)"]
    assert not any(note.startswith("Average") for note in table.notes)


def test_every_format_shows_the_pair_and_html_is_escaped(comparison: ArmComparison) -> None:
    assert "Flipped examples" in comparison.render("md") == str(comparison)
    assert comparison.render("csv").splitlines()[0].startswith(f"column,good,{EVIL},difference")
    assert "\\toprule" in comparison.render("latex")
    page = comparison._repr_html_()
    assert "<script>" not in page and page.count("&lt;script&gt;") > 3


def test_one_seed_is_named(fabricate: Fabricate) -> None:
    found = fabricate({"good": 0.9, "poor": 0.6}, tasks=["stsb"], seeds=(1, 2))
    comparison = compare_arms((found, "good"), (found, "poor"))
    assert comparison.holm == {}
    assert "hold for these checkpoints only" in comparison.render("md")


def test_arms_of_two_experiments_need_one_protocol(
    results: MadeUpResults, comparison: ArmComparison
) -> None:
    other = results.but(name="other")
    across = compare_arms((results, "good"), (other, EVIL))
    assert across.names == ("good", EVIL)
    assert across.tables()[0].title == f"made-up: good − other: {EVIL}"
    assert compare_arms((results, "good"), (other, "good")).names == ("made-up", "other")
    frames = [one.to_frame().set_axis(range(11), axis=1) for one in (across, comparison)]
    same = [0, 1, 2, 3, 8, 9, 10]  # all but intervals and p: arms with equal fields are paired
    pd.testing.assert_frame_equal(frames[0][same], frames[1][same])
    assert list(across.flips.values()) == list(comparison.flips.values())
    assert across.fields == {}  # made-up arms have equal fields
    evaluate = results.experiment.evaluate.model_dump() | {"finetune": {"epochs": 7}}
    unlike = results.but(name="other", evaluate=evaluate, sweep={"trials": 2, "space": "bert_grid"})
    with pytest.raises(ValueError, match=r"epochs is 3 and searched \(2 or 3 or 4\); sweep.tri"):
        compare_arms((results, "good"), (unlike, "poor"))


def test_arms_of_one_file_may_differ_in_protocol(
    results: MadeUpResults, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a variant does; a searched setting is equal whatever its value without the search."""
    search = {"sweep": {"trials": 2, "space": {"learning_rate": [1e-4, 1e-3]}}}
    sides = [
        results.but(name=name, evaluate=evaluate_of(results, rate, epochs), **search)
        for name, rate, epochs in (("a", 1e-4, 3), ("b", 1e-3, 3), ("c", 1e-3, 7))
    ]
    one, other, longer = ((side, "good") for side in sides)
    assert compare_arms(one, other).fields == {}
    with pytest.raises(ValueError, match=r"comparable: evaluate\.finetune\.epochs is 3 and 7"):
        compare_arms(one, longer)
    monkeypatch.setattr(Declaration, "is_same_file", lambda *_: True)
    found = compare_arms(one, longer)
    assert found.protocol == ("evaluate.finetune.epochs",) == tuple(found.fields or ())
    assert "The arms differ in protocol" in found.render("md")


def test_the_axis_that_is_asked_about_is_no_difference_of_protocol(
    results: MadeUpResults, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = "evaluate.finetune.epochs"
    differing = {path: {"good": 3, "poor": 7}}
    monkeypatch.setattr(compare, "protocol_differences", lambda *_: differing)
    assert compare_arms((results, "good"), (results, "poor")).protocol == (path,)
    plan = replace(results.plan, declared=frozenset({path}))
    monkeypatch.setattr(results, "plan", plan)
    assert compare_arms((results, "good"), (results, "poor")).protocol == ()


def evaluate_of(results: MadeUpResults, rate: float, epochs: int) -> dict[str, Any]:
    settings = {"finetune": {"learning_rate": rate, "epochs": epochs}}
    return results.experiment.evaluate.model_dump() | settings


def test_arms_must_exist_and_differ(results: MadeUpResults) -> None:
    with pytest.raises(ValueError, match="made-up: the arm 'god' is not known; did you mean"):
        compare_arms((results, "god"), (results, "poor"))
    with pytest.raises(ValueError, match="two different arms must be given"):
        compare_arms((results, "good"), (results, "good"))


def test_experiments_of_one_name_are_no_two_experiments(results: MadeUpResults) -> None:
    again = copy(results)
    again.plan = replace(results.plan)
    with pytest.raises(ValueError, match="both experiments are named made-up; give one"):
        compare_arms((results, "good"), (again, "good"))
    with pytest.raises(ValueError, match="both experiments are named made-up; give one"):
        compare_order(results, again)
