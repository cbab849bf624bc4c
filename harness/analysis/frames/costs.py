"""Costs of stages."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd

from harness.analysis.results import Results
from harness.experiment.recipe_defaults import ROLES
from harness.plan.costs import Cost, pretraining_cost
from harness.plan.plan import Plan

COST_COLUMNS = ["arm", "stage", "seconds", "tokens", "parameters", "flops"]
PLANNED = ["tokens", "parameters", "flops"]
TOTALS = ["tokens", "flops", "hours"]
ALL_ARMS = "all arms"


def costs_frame(results: Results) -> pd.DataFrame:
    """One row per arm and kind of stage: COST_COLUMNS.

    `seconds` are summed over all finished stages; tokens, parameters and FLOPs are those of one
    pretraining run as planned, null for other kinds of stages. Runs that an arm builds on, and
    continued pretraining, have rows of their own, such as `teacher of distilbert`.
    """
    plan = results.plan
    rows: list[tuple[object, ...]] = []
    for arm in plan.arms:
        for kind, keys in _keys_by_kind(plan, arm.name).items():
            cost = plan.costs[arm.name] if kind == "pretrain" else None
            rows.append(_row(results, arm.name, kind, keys, cost))
        own = [key for (name, _), key in plan.pretrain_keys.items() if name == arm.name]
        for role in ROLES:
            if spec := getattr(arm.pretrain, role):
                keys = [plan.stages[key].parents[role] for key in own]
                cost = pretraining_cost(spec, plan.vocab_sizes.get(arm.name))
                rows.append(_row(results, f"{role} of {arm.name}", "pretrain", keys, cost))
    for arm in plan.arms:
        if cost := plan.total_continued_cost(arm.name):
            keys = [run.key for run in plan.continued_runs_of(arm.name)]
            rows.append(_row(results, f"continued runs of {arm.name}", "pretrain", keys, cost))
    return pd.DataFrame(rows, columns=COST_COLUMNS)


def _row(
    results: Results, arm: str, kind: str, keys: Iterable[str], cost: Cost | None
) -> tuple[object, ...]:
    planned = (getattr(cost, name) if cost else None for name in PLANNED)
    return (arm, kind, results.seconds(dict.fromkeys(keys)), *planned)


def pretraining_costs(results: Results) -> pd.DataFrame:
    """Planned tokens, parameters and FLOPs of one pretraining run, indexed by arm; NaN if
    unknown."""
    costs = results.get(costs_frame)
    return costs[costs["stage"] == "pretrain"].set_index("arm")[PLANNED].astype(float)


def _keys_by_kind(plan: Plan, arm: str) -> dict[str, list[str]]:
    """Kind of stage to the keys of an arm's stages, each once."""
    finetunes = list(dict.fromkeys(run.key for run in plan.finetune_runs if run.arm == arm))
    parents = [plan.stages[key].parents for key in finetunes]
    tunes = list(dict.fromkeys(found["tune"] for found in parents if "tune" in found))
    gathered = [key for tune in tunes for key in plan.stages[tune].parents.values()]
    keys = {
        "pretrain": [key for (name, _), key in plan.pretrain_keys.items() if name == arm],
        "continue_pretraining": [run.key for run in plan.continued_runs if run.arm == arm],
        "tune": [*tunes, *(key for key in gathered if plan.stages[key].kind == "trial")],
        "probe": [run.key for run in plan.probe_runs if run.arm == arm],
        "train_tasks": other_tasks(plan, finetunes),
        "finetune": finetunes,
    }
    return {kind: list(dict.fromkeys(found)) for kind, found in keys.items() if found}


def other_tasks(plan: Plan, finetunes: Sequence[str]) -> list[str]:
    """Keys of the stages of other tasks that the runs build on, each once."""
    found: list[str] = []
    waiting = list(finetunes)
    while waiting:
        parents = plan.stages[waiting.pop()].parents
        before = [parents[role] for role in ("body", "head") if role in parents]
        new = [key for key in dict.fromkeys(before) if key not in found]
        found += new
        waiting += new
    return found


def total_costs(results: Results) -> pd.DataFrame:
    """What was spent on each arm, and on `ALL_ARMS`: the columns TOTALS, indexed by arm.

    `tokens` and `flops` are those of all finished pretraining runs, continued ones included; FLOPs
    are as planned. `hours` are summed over all finished stages, whether computed in parallel or
    not. A stage that arms share counts for each of them, and once for all arms.
    """
    plan = results.plan
    own = {arm.name: _with_ancestors(plan, _last_stages(plan, arm.name)) for arm in plan.arms}
    own[ALL_ARMS] = set(plan.stages)
    rows = [_total(results, keys & results.finished.keys()) for keys in own.values()]
    return pd.DataFrame(rows, index=list(own), columns=TOTALS)


def _total(results: Results, keys: set[str]) -> tuple[float, float, float]:
    stages = results.plan.stages
    trained = [key for key in keys if stages[key].kind in ("pretrain", "continue_pretraining")]
    tokens = [results.metric(key, "tokens") for key in trained]
    return (
        math.fsum(number for number in tokens if not math.isnan(number)),
        math.fsum(stages[key].flops for key in trained),
        results.seconds(sorted(keys)) / 3600,
    )


def _last_stages(plan: Plan, arm: str) -> set[str]:
    """Keys of the stages of an arm that results are read from."""
    runs: list[Any] = [*plan.finetune_runs, *plan.probe_runs, *plan.continued_runs]
    runs += plan.retained_losses
    return {run.key for run in runs if run.arm == arm} | {
        key for (name, _), key in plan.pretrain_keys.items() if name == arm
    }


def _with_ancestors(plan: Plan, keys: set[str]) -> set[str]:
    found: set[str] = set()
    waiting = list(keys)
    while waiting:
        key = waiting.pop()
        if key not in found:
            found.add(key)
            waiting += plan.stages[key].parents.values()
    return found
