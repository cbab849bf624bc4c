"""Costs of stages."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

import pandas as pd

from harness.analysis.results import Results
from harness.experiment.arms import Arm
from harness.experiment.recipe_defaults import earlier_runs, named_role
from harness.plan.arm_stages import arm_stages
from harness.plan.costs import Cost, pretraining_cost
from harness.plan.ensemble_stages import members_of
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
        for role, keys, cost in _built_on(plan, arm, own):
            rows.append(_row(results, f"{role} of {arm.name}", "pretrain", keys, cost))
    for arm in plan.arms:
        if cost := plan.total_continued_cost(arm.name):
            keys = [run.key for run in plan.continued_runs_of(arm.name)]
            rows.append(_row(results, f"continued runs of {arm.name}", "pretrain", keys, cost))
    return pd.DataFrame(rows, columns=COST_COLUMNS)


def _built_on(plan: Plan, arm: Arm, own: Sequence[str]) -> Iterator[tuple[str, list[str], Cost]]:
    """Role, stages and cost of each run that the pretraining of an arm builds on, directly or by
    others; one with several roles has the first.

    Args:
        own: stages of the pretraining of the arm.
    """
    seen: set[str] = set()
    for path, run in earlier_runs(arm.pretrain):
        keys = list(own)
        for role in path:
            keys = [plan.stages[key].parents[role] for key in keys]
        if seen.isdisjoint(keys):
            yield named_role(path), keys, pretraining_cost(run, plan.vocab_sizes.get(arm.name))
        seen.update(keys)


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


def pretraining_flops(results: Results) -> pd.Series:
    """Arm to planned FLOPs of one pretraining seed, with the runs that it builds on and continued
    pretraining; of an ensemble over pretraining, those of all its networks; NaN if unknown."""
    flops = pretraining_costs(results)["flops"]
    found: dict[str, list[str]] = {}
    for name in flops.index:
        found.setdefault(_arm_of(results, name), []).append(name)
    sums = {arm: flops[found[arm]].sum(skipna=False) for arm in results.arms if arm in found}
    return pd.Series({arm: total * _networks(results)[arm] for arm, total in sums.items()})


def _arm_of(results: Results, row: str) -> str:
    """The arm that a row of `costs_frame` belongs to, its own or that of a run which it builds on:
    an arm may be named `half of full` beside one named `full`."""
    arms = (arm.name for arm in results.plan.arms)
    return max((arm for arm in arms if f" {row}".endswith(f" {arm}")), key=len, default="")


def scored_parameters(results: Results) -> pd.Series:
    """Arm to planned parameters of what is scored: of an ensemble over pretraining, those of all
    its networks; NaN if unknown."""
    parameters, networks = pretraining_costs(results)["parameters"], _networks(results)
    return pd.Series({a: parameters[a] * networks[a] for a in results.arms if a in parameters})


def _networks(results: Results) -> dict[str, int]:
    return {arm.name: arm.networks for arm in results.plan.arms}


def _keys_by_kind(plan: Plan, arm: str) -> dict[str, list[str]]:
    """Kind of stage to the keys of an arm's stages, each once."""
    finetunes = list(dict.fromkeys(run.key for run in plan.finetune_runs if run.arm == arm))
    parents = [plan.stages[key].parents for key in finetunes]
    tunes = list(dict.fromkeys(found["tune"] for found in parents if "tune" in found))
    gathered = [key for tune in tunes for key in plan.stages[tune].parents.values()]
    search = plan.pretrain_searches.get(arm)
    keys = {
        "pretrain_trial": [*plan.stages[search].parents.values()] if search else [],
        "pretrain": [key for (name, _), key in plan.pretrain_keys.items() if name == arm],
        "continue_pretraining": [run.key for run in plan.continued_runs if run.arm == arm],
        "tune": [*tunes, *(key for key in gathered if plan.stages[key].kind == "trial")],
        "probe": [run.key for run in plan.probe_runs if run.arm == arm],
        "train_tasks": other_tasks(plan, finetunes),
        "finetune": [*finetunes, *(key for found in parents for key in members_of(found))],
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
    are as planned, with the learned vocabulary where it is known. `hours` are summed over all
    finished stages, whether computed in parallel or not. A stage that arms share counts for each of
    them, and once for all arms.
    """
    plan = results.plan
    own: dict[str, set[str]] = {arm.name: set() for arm in plan.arms}
    for found in arm_stages(plan):
        own[found.arm].add(found.stage.key)
    own[ALL_ARMS] = set(plan.stages)
    flops = _flops(plan)
    rows = [_total(results, keys & results.finished.keys(), flops) for keys in own.values()]
    return pd.DataFrame(rows, index=list(own), columns=TOTALS)


def _total(
    results: Results, keys: set[str], flops: Mapping[str, float]
) -> tuple[float, float, float]:
    stages = results.plan.stages
    trained = [key for key in keys if stages[key].kind in ("pretrain", "continue_pretraining")]
    tokens = [results.metric(key, "tokens") for key in trained]
    return (
        math.fsum(number for number in tokens if not math.isnan(number)),
        math.fsum(flops[key] for key in trained),
        results.seconds(sorted(keys)) / 3600,
    )


def _flops(plan: Plan) -> dict[str, float]:
    """Key to FLOPs of each stage, those of pretraining with the learned vocabulary."""
    found = {key: stage.flops for key, stage in plan.stages.items()}
    arms = {arm.name: arm for arm in plan.arms}
    for (name, _), key in plan.pretrain_keys.items():
        found[key] = plan.costs[name].flops or found[key]
        for _, others, cost in _built_on(plan, arms[name], [key]):
            found |= {other: cost.flops or found[other] for other in others}
    return found | {run.key: run.cost.flops for run in plan.continued_runs if run.cost.flops}
