"""Stages of the searches of pretraining and of fine-tuning settings.

Each independent trial is a stage. Its key contains its index but not the number of trials, so that
trials run in parallel and a longer search reuses them. Trials that depend on earlier ones (TPE) are
one stage; its Optuna study is named by a key without the number of trials, for the same reason.
"""

from collections.abc import Mapping
from typing import Any

from harness.experiment.arms import Arm
from harness.finetuning.search.pretrain_search import PretrainSearch
from harness.plan.graph import StageGraph
from harness.plan.keys import stage_key
from harness.tasks.task import Task


def add_search(
    graph: StageGraph,
    arm: Arm,
    task: Task,
    base: Mapping[str, Any],
    parents: Mapping[str, str],
    flops: float,
    repeat: int = 0,
) -> str:
    """Adds a search for fine-tuning settings of `arm` on `task`.

    Args:
        base: spec of a fine-tuning run, without seed.
        parents: role to key of the stages that a run builds on.
        flops: estimate for one run.
        repeat: number of the search, from 0, where each pretraining seed has its own.

    Returns:
        Key of the stage that selects the settings.
    """
    sweep, shared = arm.sweep, {**base, **({"repeat": repeat} if repeat else {})}
    again = f" of search {repeat + 1}" if repeat else ""
    spec = {**shared, "sweep": sweep.model_dump(exclude={"pretrain", "seeds"})}
    label = f"{arm.name}, {task.name}, {sweep.size} trials{again}"
    resumable = {**shared, "sweep": sweep.model_dump(exclude={"trials", "pretrain", "seeds"})}
    if sweep.sampler == "tpe":
        study = stage_key("tune", graph.with_plugins("tune", resumable), parents)
        return graph.stage("tune", label, {**spec, "study": study}, parents, flops * sweep.trials)
    trials = {}
    for number in range(sweep.size):
        name = f"{arm.name}, {task.name}, trial {number}{again}"
        trial = {**resumable, "trial": number}
        trials[trial_role(number)] = graph.stage("trial", name, trial, parents, flops)
    return graph.stage("tune", label, spec, trials)


def add_pretrain_search(
    graph: StageGraph,
    search: PretrainSearch,
    label: str,
    base: Mapping[str, Any],
    parents: Mapping[str, str],
    flops: float,
) -> str:
    """Adds the search for settings of a pretraining run.

    Args:
        search: that of an arm, in one space.
        base: spec of the run of a trial, before its settings.
        parents: role to key of the stages that a trial builds on.
        flops: estimate for one trial.

    Returns:
        Key of the stage that selects the settings.
    """
    declared = search.model_dump(exclude={"optimizers"})  # in one space
    of_trial = {**declared, "trials": None}  # a longer search keeps the trials
    trials = {}
    for number in range(search.size):
        spec = {**base, "search": of_trial, "trial": number}
        name = f"{label}, pretraining trial {number}"
        key = graph.stage("pretrain_trial", name, spec, parents, flops)
        trials[trial_role(number)] = key
    name = f"{label}, {search.size} pretraining trials"
    return graph.stage("tune_pretraining", name, {"search": declared}, trials)


def trial_role(number: int) -> str:
    """Role of trial `number` among the parents of the stage that selects one."""
    return f"trial{number}"
