"""Problems with runs that a report finds."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from harness import load
from harness.analysis.comparison.differences import AVERAGE
from harness.analysis.frames.runs import FINETUNE_COLUMNS
from harness.analysis.results import Results
from harness.analysis.seed_scores import run_scores
from harness.leaderboard.build import build
from harness.pretraining.recipes import RECIPES
from harness.report import run_checks, search_checks
from harness.report.difference_tables import every_column
from harness.report.equal_arms import equal_arms
from harness.report.run_scores import all_run_scores
from harness.report.threats import threats
from harness.tasks import TASKS
from harness.tasks.task import Column
from tests.made_up_results import MadeUpResults, pairs_of, table_of


def runs(*rows: tuple[Any, ...]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=FINETUNE_COLUMNS)


def table_and_scores(data: MadeUpResults) -> Any:
    table = build(data.scores, data.suite, tasks=data.experiment.evaluate.tasks, arms=data.arms)
    by_arm = {arm: data.scores[data.scores["arm"] == arm] for arm in data.arms}
    return table, {
        column.name: {
            arm: run_scores(rows, column).to_numpy(copy=True) for arm, rows in by_arm.items()
        }
        for column in table.columns
    }


def threats_of(results: Results) -> list[str]:
    table = table_of(results)
    return threats(results, table, pairs_of(results, table), all_run_scores(results))


def test_runs_at_chance_are_counted_and_collapsed_arms_named(
    fabricate: Callable[..., MadeUpResults],
) -> None:
    data = fabricate({"good": 0.95, "bad": 0.5, "majority": 0.2}, tasks=("sst2", "mrpc"))
    families = {"good": "bert", "bad": "bert", "majority": "majority"}
    data = data.but(differences={"pretrain.model.family": families})
    table, scores = table_and_scores(data)
    for column in ("sst2", "mrpc"):
        scores[column]["bad"][:] = 45.0
    counted, never = run_checks.at_chance(data, table, scores, {})
    # 2 tasks, 3 x 2 seeds; the baseline is not counted
    assert counted.endswith("arm bad, 12 of its 12.")
    assert never == "Arms without any run above chance: bad."
    scores["own"] = {arm: np.array([60.0]) for arm in data.arms}  # declares no chance
    assert list(run_checks.at_chance(data, table, scores, {"own": 51.0})) == [counted]


def test_columns_at_the_maximum_cannot_separate_arms(
    fabricate: Callable[..., MadeUpResults],
) -> None:
    data = fabricate({"one": 1.0, "two": 1.0, "poor": 0.7}, tasks=("sst2", "mrpc"))
    (found,) = run_checks.at_maximum(data, *table_and_scores(data))
    assert "sst2 (100.0; one, two)" in found
    table, scores = table_and_scores(data)
    scores["sst2"]["two"][0] = 99.4
    scores["mrpc"]["one"][0] = np.nan
    assert not list(run_checks.at_maximum(data, table, scores))


def test_the_maximum_of_the_micro_world_is_its_ceiling() -> None:
    for name, most in (("micro-sst2", 95.2), ("sst2", 100), ("copa", 100)):
        column = Column(name=name, task=name, metrics=("accuracy",))
        assert run_checks.maximum(TASKS[name], column) == pytest.approx(most, abs=0.1)


@pytest.mark.parametrize(
    ("task", "split"),
    [("micro-overlap", "high_overlap_entailed"), ("micro-mnli", "validation_mismatched")],
)
def test_a_ceiling_is_that_of_its_split(task: str, split: str) -> None:
    """Other splits have other shares of wrong labels: these have ceilings of 97.2 and 96.9."""
    for name, most in ((TASKS[task].evaluation[0].name, 95.4), (split, 100)):
        column = Column(name=name, task=task, split=name, metrics=("accuracy",))
        assert run_checks.maximum(TASKS[task], column) == pytest.approx(most)


def test_runs_far_below_chance_have_learned_the_task_inverted(
    fabricate: Callable[..., MadeUpResults],
) -> None:
    data = fabricate({"good": 0.95, "bad": 0.08}, tasks=("sst2", "cola", "mnli"), seeds=(2, 1))
    table, scores = table_and_scores(data)
    scores["sst2"]["bad"][:] = 10.0, 8.0
    scores["cola"]["bad"][:] = -9.0, -10.0  # too close to chance
    _, inverted = run_checks.at_chance(data, table, scores, {})
    level = 100 * (TASKS["sst2"].chance or 0.0)  # three classes of MNLI have no reverse
    assert f"reversed: bad on sst2 (8.0; chance {level:.1f}). " in inverted
    assert "good" not in inverted and "cola" not in inverted and "mnli" not in inverted
    scores["cola"]["bad"][:] = -9.0, -10.1
    _, inverted = run_checks.at_chance(data, table, scores, {})
    assert "cola (−10.1; chance 0.0)" in inverted


def test_undefined_scores_count_as_at_chance(
    fabricate: Callable[..., MadeUpResults],
) -> None:
    data = fabricate({"good": 0.95}, tasks=("sst2",), seeds=(1, 2))
    table, scores = table_and_scores(data)
    scores["sst2"]["good"][0] = np.nan
    (counted,) = run_checks.at_chance(data, table, scores, {})
    assert counted.endswith("arm good, 1 of its 2.")


def test_truncated_inputs_by_task_in_per_cent(fabricate: Callable[..., MadeUpResults]) -> None:
    rows = [
        *[("bert", "rte", 0, seed, True, share, False) for seed, share in ((0, 0.2), (1, 0.22))],
        ("gpt2", "rte", 0, 0, True, 0.34, False),
        ("bag_of_words", "rte", 0, 0, True, 0.0, False),
        ("bert", "sst2", 0, 0, True, 0.004, False),
        ("bert", "cola", 0, 0, True, np.nan, False),
    ]
    data = fabricate({"bert": 0.9}).but(runs=runs(*rows))
    (sentence,) = run_checks.truncated(data)
    assert sentence.endswith("truncated: rte 21 to 34 %.")
    assert "sst2" not in sentence
    assert "cola" not in sentence


def test_runs_and_trials_that_diverged(fabricate: Callable[..., MadeUpResults]) -> None:
    row = ("bert", "rte", 0, 0, True, 0.0)
    trials = pd.DataFrame({"arm": "gpt2", "task": "cola", "state": ["complete", "diverged"]})
    data = fabricate({"bert": 0.9}).but(runs=runs((*row, True), (*row, False)), trials=trials)
    of_runs, of_trials = run_checks.diverged(data)
    assert of_runs == "Diverged runs, included with their scores: bert on rte (1)."
    assert of_trials == "Diverged trials, which count as the worst: gpt2 on cola (1)."


def test_unequal_trials(fabricate: Callable[..., MadeUpResults]) -> None:
    found = [("bert", "rte")] * 3 + [("gpt2", "rte")] * 2 + [("bert", "cola"), ("gpt2", "cola")]
    trials = pd.DataFrame(found, columns=["arm", "task"]).assign(pretrain_seed=0)
    data = fabricate({"bert": 0.9, "gpt2": 0.9}, tasks=("rte", "cola")).but(trials=trials)
    (sentence,) = search_checks.unequal_trials(data)
    assert sentence.startswith("Unequal numbers of trials on rte: bert 3, gpt2 2.")
    assert not [*search_checks.untuned(data)]


def test_a_checkpoint_has_one_search_and_as_many_trials(
    fabricate: Callable[..., MadeUpResults],
) -> None:
    """Where the networks of all pretraining seeds are searched, of which it has one."""
    found = [("bert", seed) for seed in (0, 0, 1, 1)] + [("published", 0)] * 2
    trials = pd.DataFrame(found, columns=["arm", "pretrain_seed"]).assign(task="rte")
    data = fabricate({"bert": 0.9, "published": 0.9}, tasks=("rte",))
    assert not [*search_checks.unequal_trials(data.but(trials=trials))]
    (sentence,) = search_checks.unequal_trials(data.but(trials=trials[:-1]))
    assert sentence.startswith("Unequal numbers of trials on rte: bert 2, published 1.")


def test_an_arm_without_any_trial_has_fewer_but_for_what_cannot_be_tuned(
    fabricate: Callable[..., MadeUpResults],
) -> None:
    arms = dict.fromkeys(("bert", "gpt2", "unable", "lead", "prompted"), 0.9)
    plan = [(arm, "rte", 0, 0, True, 0.0, False) for arm in arms if arm != "unable"]
    families = dict.fromkeys(arms, "bert") | {"gpt2": "gpt2", "lead": "lead"}
    ways = dict.fromkeys(arms, "full") | {"prompted": "prompt"}
    data = fabricate(arms).but(
        runs=runs(*plan),
        trials=pd.DataFrame({"arm": ["bert"] * 8, "task": "rte", "pretrain_seed": 0}),
        differences={"pretrain.model.family": families, "evaluate.adaptation.kind": ways},
    )
    (sentence,) = search_checks.unequal_trials(data)
    assert sentence.startswith("Unequal numbers of trials on rte: bert 8, gpt2 0.")
    (sentence,) = search_checks.untuned(data)
    assert sentence.endswith(": lead, prompted.")


def searched(data: MadeUpResults, value: float) -> MadeUpResults:
    """One trial on each task, with this score on the hold-out."""
    tasks = pd.DataFrame({"arm": "good", "task": ["sst2", "mrpc", "stsb"]})
    trials = tasks.assign(pretrain_seed=0, trial=0, value=value, state="complete")
    return data.but(trials=trials)


def test_a_hold_out_that_is_far_above_dev_is_named_with_both_scores(
    fabricate: Callable[..., MadeUpResults],
) -> None:
    data = searched(fabricate({"good": 0.5}), 0.99)
    dev = 100 * data.scores.query("task == 'sst2'")["value"].mean()
    beside = search_checks.holdout_beside_dev(data)
    assert beside["good", "sst2"] == pytest.approx((99.0, dev))
    (sentence,) = search_checks.far_above_dev(beside)
    assert f"good on sst2 (99.0 against {dev:.1f})" in sentence
    near = search_checks.holdout_beside_dev(searched(data, dev / 100 + 0.09))
    assert not [*search_checks.far_above_dev({("good", "sst2"): near["good", "sst2"]})]
    assert not search_checks.holdout_beside_dev(searched(data, np.nan))


def test_seeds_that_a_task_lacks_are_left_out(fabricate: Callable[..., MadeUpResults]) -> None:
    data = fabricate({"good": 0.9, "bad": 0.6}, seeds=(3, 1))
    assert [*run_checks.excluded_seeds(data)] == []
    keys = data.scores["key"]
    lacking = data.scores[~keys.isin(["good-sst2-1-0", "good-mrpc-1-0"])]
    (sentence,) = run_checks.excluded_seeds(data.but(scores=lacking))
    assert sentence.startswith("Pretraining seed 1 of good is excluded")
    assert sentence.endswith("no score on mrpc and sst2.")
    fewer = data.scores[(data.scores["arm"] == "good") | (data.scores["pretrain_seed"] < 2)]
    (sentence,) = run_checks.excluded_seeds(data.but(scores=fewer))
    assert sentence == "Arms with fewer pretraining seeds than the 3 of others: bad 2."


@pytest.mark.parametrize("share", [0.009, np.nan])
def test_checks_without_findings_are_listed_if_they_were_possible(
    fabricate: Callable[..., MadeUpResults], share: float
) -> None:
    data = fabricate({"good": 0.95}, tasks=("sst2",), seeds=(1, 1))
    data = data.but(runs=runs(("good", "sst2", 0, 0, True, share, False)))
    table, scores = table_and_scores(data)
    *_, last = threats(data, table, (), scores)
    assert last.startswith("No sign of: missing scores, ")
    assert ("truncation of more than 1 % of train examples" in last) == (share == 0.009)
    assert "diverged" in last
    assert "unequal numbers" not in last and "hold-out" not in last
    *_, last = threats(searched(data, 0.5), table, (), scores)
    assert "hold-out scores more than 10 points above dev" in last
    assert "unequal numbers of trials" not in last  # of one arm


def test_checks_that_do_not_apply_are_not_listed(
    fabricate: Callable[..., MadeUpResults],
) -> None:
    data = fabricate({"good": 0.95}, tasks=("sst2",), seeds=(1, 1))
    absent = threats(data, *_with_pairs(data))[-1]
    assert "runs with constant predictions" in absent and "above chance" in absent
    for name in ("untrained network or a baseline", "without scores on every task", "frequencies"):
        assert name not in absent
    several = fabricate({"good": 0.95, "bag": 0.6}, tasks=("sst2", "mrpc"), seeds=(2, 1))
    families = {"good": "bert", "bag": "bag_of_words"}
    several = several.but(differences={"pretrain.model.family": families})
    bag = RECIPES["bag_of_words"]
    arms = (several.plan.arms[0], replace(several.plan.arms[1], pretrain=bag))
    declaration = replace(several.plan.declaration, arms=arms)
    several.plan = replace(several.plan, declaration=declaration)
    absent = threats(several, *_with_pairs(several))[-1]
    assert "not significantly above an untrained network or a baseline" in absent
    assert "pretraining seeds without scores on every task" in absent


def _with_pairs(data: MadeUpResults) -> Any:
    table, scores = table_and_scores(data)
    return table, pairs_of(data, table), scores


def test_the_average_of_one_column_is_no_second_difference(
    fabricate: Callable[..., MadeUpResults],
) -> None:
    data = fabricate({"good": 0.95, "bad": 0.6}, tasks=("sst2",))
    table, pairs, scores = _with_pairs(data)
    assert not any("differences are shown" in line for line in threats(data, table, pairs, scores))
    assert [row[1] for row in every_column(pairs).rows] == [AVERAGE]


def test_unfinished_runs_are_not_checked(
    fabricate: Callable[..., MadeUpResults],
) -> None:
    data = fabricate({"good": 0.95}, tasks=("sst2",), seeds=(1, 1))
    unfinished = runs(("good", "sst2", 0, 0, False, np.nan, False))
    data = data.but(scores=data.scores.iloc[:0], runs=unfinished)
    table, scores = table_and_scores(data)
    (sentence,) = threats(data, table, (), scores)
    assert sentence.startswith("good lacks scores: sst2 (1 of 1).")


def test_runs_that_were_never_planned_are_not_missing(
    fabricate: Callable[..., MadeUpResults],
) -> None:
    """A baseline has one fine-tuning seed, another arm cannot do the task."""
    data = fabricate({"good": 0.95, "once": 0.9, "unable": 0.9}, tasks=("sst2",), seeds=(2, 2))
    once = data.scores["key"].isin(["once-sst2-0-0", "once-sst2-1-0"])
    results = data.scores[(data.scores["arm"] == "good") | once]
    seeds = [("good", 0, 0), ("good", 0, 1), ("good", 1, 0), ("good", 1, 1)]
    seeds += [("once", 0, 0), ("once", 1, 0)]
    plan = [(arm, "sst2", *pair, True, 0.0, False) for arm, *pair in seeds]
    data = data.but(scores=results, runs=runs(*plan))
    table, scores = table_and_scores(data)
    assert not any("lacks scores" in line for line in threats(data, table, (), scores))
    assert not [*run_checks.excluded_seeds(data)]
    lost = data.but(scores=results[results["key"] != "once-sst2-1-0"])
    table, scores = table_and_scores(lost)
    found = threats(lost, table, (), scores)
    assert any(line.startswith("once lacks scores: sst2 (1 of 2).") for line in found)


def test_many_differences_of_one_pair_are_many_comparisons(
    fabricate: Callable[..., MadeUpResults],
) -> None:
    data = fabricate({"good": 0.95, "bad": 0.6})
    table, scores = table_and_scores(data)
    lines = threats(data, table, pairs_of(data, table), scores)
    assert any(line.startswith("4 differences are shown") for line in lines)


def test_few_seeds_are_attributed_to_the_arms_that_have_them(
    fabricate: Callable[..., MadeUpResults],
) -> None:
    data = fabricate({"good": 0.9, "hub": 0.6}, tasks=("sst2",), seeds=(10, 1))
    imported = (data.scores["arm"] == "good") | (data.scores["pretrain_seed"] == 0)
    data = data.but(scores=data.scores[imported])
    table, scores = table_and_scores(data)
    first, second, *_ = threats(data, table, (), scores)
    assert first.startswith("Some arms (hub) have 1 pretraining seed: their intervals do not")
    assert "10 pretraining seeds" not in second


EXPERIMENT = """
name: declared
question: Is it shown?
{}
pretrain: {{recipe: bert, size: nano, budget: {{tokens: 0}}}}
"""


def test_declared_threats_are_shown_and_change_no_stage(
    tmp_path: Path,
) -> None:
    plain, declared = tmp_path / "plain.yaml", tmp_path / "declared.yaml"
    plain.write_text(EXPERIMENT.format(""))
    declared.write_text(EXPERIMENT.format("threats: [A seed came late., It was warm.]"))
    studies = [load(file, store=tmp_path / "store") for file in (plain, declared)]
    assert studies[0].plan.stages.keys() == studies[1].plan.stages.keys()
    without, shown = (threats_of(study.results) for study in studies)
    added = ["A seed came late.", "It was warm."]
    assert [line for line in shown if line not in without] == added
    assert [line for line in shown if line not in added] == without


def test_one_answer_is_right_where_every_example_has_one_label(
    fabricate: Callable[..., MadeUpResults],
) -> None:
    data = fabricate({"good": 0.95}, tasks=("sst2",), seeds=(1, 1))
    table, scores = table_and_scores(data)
    for label, constant in ((1.0, True), (None, False)):
        alike = {"label": 1.0} if label else {}

        def stuck(key: str, alike: dict[str, float] = alike) -> pd.DataFrame:
            return data.predictions(key).assign(prediction=1.0, **alike)

        found = " ".join(threats(data.but(predictions=stuck), table, (), scores))
        assert ("have the same label" in found) == constant
        assert ("did not learn the task" in found) != constant


def test_an_answer_for_each_split_is_not_one_for_every_example(
    fabricate: Callable[..., MadeUpResults],
) -> None:
    data = fabricate({"good": 0.8}, tasks=("mnli",), seeds=(1, 1))

    def stuck(key: str, by_split: bool) -> pd.DataFrame:
        rows = data.predictions(key)
        first = rows["split"] == "validation_matched"
        return rows.assign(prediction=first.astype(float) if by_split else 1.0)

    for by_split in (True, False):
        made = data.but(predictions=partial(stuck, by_split=by_split))
        assert bool([*run_checks.constant_runs(made, table_of(made))]) != by_split


def test_arms_with_the_same_figures_in_all_runs_are_named(
    fabricate: Callable[..., MadeUpResults],
) -> None:
    data = fabricate({"one": 0.9, "two": 0.9, "other": 0.9}, tasks=("sst2",), seeds=(1, 2))
    data = data.but(differences={"pretrain.module": {"one": None, "two": "mine", "other": None}})
    finished: dict[str, Any] = data.__dict__["finished"]

    def set_losses(arm: str, *losses: float) -> None:
        for seed, loss in enumerate(losses):
            key = f"{arm}-sst2-0-{seed}"
            scores = {"validation/accuracy": 0.9, "train_loss": loss, "seconds": len(arm) + loss}
            finished[key] = replace(finished[key], metrics=scores)

    for arm in ("one", "two", "other"):
        set_losses(arm, 0.5, 0.25)
    set_losses("other", 0.5, 0.26)
    (sentence,) = equal_arms(data)
    assert sentence.startswith("one and two have the same losses and scores in all runs, to the ")
    assert sentence in threats_of(data) and "differ in pretrain.module: check" in sentence
    set_losses("two", 0.5, 0.25 + 1e-12)
    assert not [*equal_arms(data)]
    set_losses("two", 0.5, 0.25)
    del finished["two-sst2-0-1"]
    assert not [*equal_arms(data)]


def test_few_groups_of_examples_are_a_threat(fabricate) -> None:
    data = fabricate({"good": 0.9, "bad": 0.6})

    def found(num_groups: int) -> list[str]:
        def grouped(key: str) -> dict[str, np.ndarray]:
            groups = {"validation/groups": np.arange(120) % num_groups} if "sst2" in key else {}
            return {**data.counts(key), **groups}

        of_groups = data.but(counts=grouped)
        lines = threats(of_groups, *_with_pairs(of_groups))
        return [line for line in lines if "whole groups" in line]

    (line,) = found(12)
    assert line.endswith("with fewer than 30 groups (Cameron et al. 2008): sst2 (12).")
    assert found(30) == []


def test_adopted_stages_are_named(fabricate: Callable[..., MadeUpResults]) -> None:
    data = fabricate({"good": 0.9, "bad": 0.6})
    assert not any("adopted" in line for line in threats_of(data))
    changed = {
        run.key: replace(data.finished[run.key], adopted="epochs 2 -> 3: no effect")
        for run in data.plan.finetune_runs[:3]
    }
    data.__dict__["finished"] = {**data.finished, **changed}
    (line,) = [line for line in threats_of(data) if "adopted" in line]
    assert "3 (epochs 2 -> 3: no effect)" in line


@pytest.mark.parametrize(
    ("answers", "constant"),
    [
        ([1.0, 1.0], True),
        ([1.0, 0.0], False),
        (["a b", "a b"], True),
        (["a b", "b"], False),
        ([np.array([0, 0]), np.array([0])], True),
        ([np.array([0, 0]), np.array([1])], False),
        ([np.array([]), np.array([])], True),  # no mention in any document
        ([[np.array([0, 1, 2]), np.array([0, 3, 3])], []], False),
    ],
)
def test_runs_that_answer_the_same_everywhere(answers: list[Any], constant: bool) -> None:
    assert run_checks._is_constant(pd.Series(answers)) is constant
