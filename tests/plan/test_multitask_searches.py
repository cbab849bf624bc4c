"""The search of settings of one network for all tasks: its stages, trials and place in reports."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.analysis.frames.costs import costs_frame
from harness.analysis.frames.trials import selected_trials, trials_frame
from harness.execution.job import Workspace
from harness.execution.search_studies import SearchStudies
from harness.execution.stages.search import TUNING_SEED
from harness.finetuning.search.optuna_search import point
from harness.finetuning.search.sweep import Sweep
from harness.plan.plan import Plan
from harness.plan.search_stages import ALL_TASKS
from harness.report import search_checks
from harness.report.sections.search import chosen_section, search_section, trials_table
from harness.store.store import Store
from tests.plan.test_task_chain_stages import (
    FAST,
    TASKS,
    of_kind,
    planned,
    predictions,
    stage_of,
    task_names,
)
from tests.stage_runner import StageRunner

RATES = [1e-2, 1e-9]
SWEEP: dict[str, Any] = {"trials": 2, "sampler": "grid", "space": {"learning_rate": RATES}}
BOTH = {"evaluate.multitask": [{"mixing": "equal"}, None]}
TOGETHER = "equal"
"""Name of the first arm."""


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> StageRunner:
    return StageRunner(tmp_path_factory.mktemp("stages"))


def searched(sweep: dict[str, Any] = SWEEP, **fields: Any) -> Plan:
    return planned(sweep=sweep, multitask={}, **fields)


def test_all_tasks_have_one_search() -> None:
    plan = searched()
    (tune,), trials = of_kind(plan, "tune"), of_kind(plan, "trial")
    (trained,) = of_kind(plan, "train_tasks")
    assert [sorted(task_names(one)) for one in (tune, *trials)] == [sorted(TASKS)] * 3
    assert set(tune.parents.values()) == {one.key for one in trials}
    assert {one.spec["trial"] for one in trials} == {0, 1}
    assert all(one.parents == trials[0].parents for one in trials)
    assert trials[0].parents.keys() == {"pretrain", "tokenizer"}
    assert {**trained.parents, "tune": tune.key} == trained.parents
    for task in TASKS:
        assert stage_of(plan, task).parents["tune"] == tune.key
    assert sum(one.flops for one in trials) == pytest.approx(2 * trained.flops)


def test_a_search_changes_the_keys_of_what_has_its_settings() -> None:
    plain, plan = planned(multitask={}), searched()
    kept = {stage.kind for stage in plain.stages.values() if stage.key in plan.stages}
    assert kept == {"tokenizer", "tokenize", "pretrain"}


def test_each_pretraining_seed_may_have_its_own() -> None:
    seeds = {"pretrain": 2, "finetune": 1}
    assert len(of_kind(searched(seeds=seeds), "tune")) == 1
    plan = searched({**SWEEP, "seeds": "each"}, seeds=seeds)
    assert len(of_kind(plan, "tune")) == 2 and len(of_kind(plan, "trial")) == 4
    chosen = {run.pretrain_seed: plan.stages[run.key].parents["tune"] for run in plan.finetune_runs}
    assert len(set(chosen.values())) == 2


def test_optuna_shows_one_study(tmp_path: Path) -> None:
    plan = planned(BOTH, sweep=SWEEP)
    names = SearchStudies(plan, Store(tmp_path / "runs"), Workspace(tmp_path / "runs")).searches
    assert {name.rpartition("/")[2] for name in names if f"/{TOGETHER}/" in name} == {ALL_TASKS}
    assert len(names) == 1 + len(TASKS)


def test_baselines_and_tasks_without_a_train_set_have_no_settings() -> None:
    suite = {"name": "mine", "tasks": ["micro-sts", "micro-mrpc"]}
    plan = searched(suite=suite, tasks=None)
    (trained,) = of_kind(plan, "train_tasks")
    assert "tune" in trained.parents and "tune" not in stage_of(plan, "micro-sts").parents
    assert stage_of(plan, "micro-sts").parents["body"] == trained.key
    assert not of_kind(searched(grid={"pretrain.recipe": ["majority"]}), "tune")


def test_a_trial_has_the_mean_of_the_scores_of_a_run_with_its_settings(runner: StageRunner) -> None:
    """Which stages of their own read from the network and its heads."""
    plan = searched()
    runner.run(plan)
    sweep = Sweep.model_validate(SWEEP)
    for stage in of_kind(plan, "trial"):
        number = stage.spec["trial"]
        settings = FAST["finetune"] | point(sweep, number)
        seeds = {"pretrain": 1, "finetune": [TUNING_SEED + number]}
        alone = planned(multitask={}, finetune=settings, seeds=seeds)
        runner.run(alone)
        scores = [runner.finished[run.key].metrics["holdout"] for run in alone.finetune_runs]
        trial = json.loads((runner.out(stage.key) / "trial.json").read_text())
        assert len(scores) == 3 and trial["value"] == pytest.approx(np.mean(scores))
        assert trial["state"] == "complete" and trial["params"] == point(sweep, number)


def test_the_network_has_the_chosen_settings(runner: StageRunner) -> None:
    plan = searched()
    runner.run(plan)
    (tune,) = of_kind(plan, "tune")
    best = json.loads((runner.out(tune.key) / "best.json").read_text())
    same = planned(multitask={}, finetune=FAST["finetune"] | best)
    runner.run(same)
    for one, other in zip(plan.finetune_runs, same.finetune_runs, strict=True):
        assert np.array_equal(predictions(runner, one.key), predictions(runner, other.key))
    stored = json.loads((runner.out(plan.finetune_runs[0].key) / "settings.json").read_text())
    assert stored["learning_rate"] == best["learning_rate"]


def test_trials_that_depend_on_earlier_ones_are_pruned(runner: StageRunner) -> None:
    """By the mean score after each epoch."""
    sweep = {"trials": 7, "sampler": "tpe", "pruner": "median", "space": SWEEP["space"]}
    plan = searched(sweep, finetune={**FAST["finetune"], "epochs": 2})
    (tune,) = of_kind(plan, "tune")
    runner.run(plan)
    trials = json.loads((runner.out(tune.key) / "trials.json").read_text())
    assert len(trials) == 7 and {one["params"]["learning_rate"] for one in trials} == {*RATES}
    ended = {(one["state"], one["epochs"]) for one in trials}
    assert ended == {("complete", 2), ("pruned", 1)}


def test_reports_name_it_once(runner: StageRunner) -> None:
    plan = planned(BOTH, sweep=SWEEP)
    runner.run(plan)
    results = runner.results(plan)
    frame = results.get(trials_frame)
    numbers = Counter(zip(frame["arm"], frame["task"], strict=True))
    (alone,) = {*frame["arm"]} - {TOGETHER}
    assert numbers == {(TOGETHER, ALL_TASKS): 2, **{(alone, task): 2 for task in TASKS}}
    assert len(selected_trials(results)) == 4
    assert not [*search_checks.unequal_trials(results)]
    assert {task for _, task in search_checks.holdout_beside_dev(results)} <= {*TASKS}
    costs = results.get(costs_frame).set_index(["arm", "stage"])["seconds"]
    assert costs[TOGETHER, "tune"] > frame[frame["arm"] == TOGETHER]["seconds"].sum()
    section = chosen_section(results)
    assert section and len(section.notes) == 2 and ALL_TASKS in section.notes[1]
    assert [TOGETHER, ALL_TASKS] in [row[:2] for row in trials_table(results).rows]
    whole = search_section(results)
    assert whole and whole.notes[-1] == section.notes[-1]
    assert "undefined one counts as -1" in section.notes[-1]  # of one task, as 0 in means
