"""Stages of the searches of pretraining and of fine-tuning settings.

Each independent trial is a stage. Its key contains its index but not the number of trials, so that
trials run in parallel and a longer search reuses them. Trials that depend on earlier ones (TPE) are
one stage; its Optuna study is named by a key without the number of trials, for the same reason.
"""

from collections.abc import Mapping
from typing import Any

from harness.finetuning.search.pretrain_search import PretrainSearch
from harness.finetuning.search.sweep import Sweep
from harness.plan.graph import StageGraph
from harness.plan.keys import stage_key

ALL_TASKS = "all tasks"
"""Stands for a task where one network for all is searched (`evaluate.multitask`)."""


def add_search(
    graph: StageGraph,
    sweep: Sweep,
    name: str,
    base: Mapping[str, Any],
    parents: Mapping[str, str],
    flops: float,
    repeat: int = 0,
) -> str:
    """Adds a search for fine-tuning settings.

    Args:
        name: arm and task, for labels.
        base: spec of a run on one task or on several, without seed.
        parents: role to key of the stages that a run builds on.
        flops: estimate for one run.
        repeat: number of the search, from 0, where each pretraining seed has its own.

    Returns:
        Key of the stage that selects the settings.
    """
    shared = {**base, **({"repeat": repeat} if repeat else {})}
    again = f" of search {repeat + 1}" if repeat else ""
    spec = {**shared, "sweep": sweep.model_dump(exclude={"pretrain", "seeds"})}
    label = f"{name}, {sweep.size} trials{again}"
    resumable = {**shared, "sweep": sweep.model_dump(exclude={"trials", "pretrain", "seeds"})}
    if sweep.sampler == "tpe":
        study = stage_key("tune", graph.with_plugins("tune", resumable), parents)
        return graph.stage("tune", label, {**spec, "study": study}, parents, flops * sweep.trials)
    trials = {}
    for number in range(sweep.size):
        trial, one = {**resumable, "trial": number}, f"{name}, trial {number}{again}"
        trials[trial_role(number)] = graph.stage("trial", one, trial, parents, flops)
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
