"""Costs of stages."""

from collections.abc import Sequence

import pandas as pd

from harness.analysis.frames.continued_pretraining import continued_cost_rows
from harness.analysis.results import Results
from harness.experiment.arms import Arm
from harness.experiment.named_values import ROLES
from harness.plan.costs import pretraining_cost
from harness.plan.plan import Plan

COST_COLUMNS = ["arm", "stage", "seconds", "tokens", "parameters", "flops"]


def costs_frame(results: Results) -> pd.DataFrame:
    """One row per arm and kind of stage: COST_COLUMNS.

    `seconds` are summed over all finished stages; tokens, parameters and FLOPs are those of one
    pretraining run as planned, null for other kinds. Runs that an arm builds on have rows of their
    own, as `teacher of distilbert`.
    """
    rows: list[dict[str, object]] = []
    for arm in results.plan.arms:
        cost = results.plan.costs[arm.name]
        for kind, keys in _keys_by_kind(results.plan, arm.name).items():
            pretrain = kind == "pretrain"
            rows.append(
                {
                    "arm": arm.name,
                    "stage": kind,
                    "seconds": results.seconds(keys),
                    "tokens": cost.tokens if pretrain else None,
                    "parameters": cost.parameters if pretrain else None,
                    "flops": cost.flops if pretrain else None,
                }
            )
        rows += [_nested_cost(arm, role, results) for role in ROLES if getattr(arm.pretrain, role)]
    return pd.DataFrame(rows + continued_cost_rows(results), columns=COST_COLUMNS)


def _nested_cost(arm: Arm, role: str, results: Results) -> dict[str, object]:
    """The row of a run that an arm builds on."""
    cost, stages = pretraining_cost(getattr(arm.pretrain, role)), results.plan.stages
    own = [key for (name, _), key in results.plan.pretrain_keys.items() if name == arm.name]
    return {
        "arm": f"{role} of {arm.name}",
        "stage": "pretrain",
        "seconds": results.seconds({stages[key].parents[role] for key in own}),
        "tokens": cost.tokens,
        "parameters": cost.parameters,
        "flops": cost.flops,
    }


def _keys_by_kind(plan: Plan, arm: str) -> dict[str, list[str]]:
    finetunes = list(dict.fromkeys(run.key for run in plan.finetune_runs if run.arm == arm))
    tunes = list(
        dict.fromkeys(
            plan.stages[key].parents["tune"]
            for key in finetunes
            if "tune" in plan.stages[key].parents
        )
    )
    gathered = [key for tune in tunes for key in plan.stages[tune].parents.values()]
    trials = [key for key in gathered if plan.stages[key].kind == "trial"]
    keys = {
        "pretrain": [key for (name, _), key in plan.pretrain_keys.items() if name == arm],
        "continue_pretraining": [run.key for run in plan.continued_runs if run.arm == arm],
        "tune": [*tunes, *trials],
        "probe": [run.key for run in plan.probe_runs if run.arm == arm],
        "train_tasks": _other_tasks(plan, finetunes),
        "finetune": finetunes,
    }
    return {kind: list(dict.fromkeys(found)) for kind, found in keys.items() if found}


def _other_tasks(plan: Plan, finetunes: Sequence[str]) -> list[str]:
    """Keys of the stages of other tasks that the runs build on, each once."""
    found: dict[str, None] = {}
    waiting = list(finetunes)
    while waiting:
        parents = plan.stages[waiting.pop()].parents
        for key in (parents[role] for role in ("body", "head") if role in parents):
            if key not in found:
                found[key] = None
                waiting.append(key)
    return list(found)
