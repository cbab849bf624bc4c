"""What stages cost, as a frame."""

from collections.abc import Mapping, Sequence

import pandas as pd

from harness.analysis.frames.continued_pretraining import continued_costs
from harness.experiment.arms import Arm
from harness.experiment.named_values import ROLES
from harness.plan.costs import pretraining_cost
from harness.plan.plan import Cell, Plan
from harness.pretraining.recipes.pretrain import Pretrain
from harness.store.store import Record


def costs_frame(plan: Plan, records: Mapping[str, Record]) -> pd.DataFrame:
    """Per arm and stage kind: seconds over all its stages; tokens, parameters and FLOPs of one
    pretraining run."""
    rows: list[dict[str, object]] = []
    for arm in plan.arms:
        cost = plan.costs[arm.name]
        for kind, keys in _keys_by_kind(plan, arm.name).items():
            pretrain = kind == "pretrain"
            rows.append(
                {
                    "arm": arm.name,
                    "stage": kind,
                    "seconds": sum(records[k].metrics["seconds"] for k in keys if k in records),
                    "tokens": cost.tokens if pretrain else None,
                    "parameters": cost.parameters if pretrain else None,
                    "flops": cost.flops if pretrain else None,
                }
            )
        rows += [_other_cost(arm, role, plan, records) for role in ROLES if _run(arm, role)]
    return pd.DataFrame(rows + continued_costs(plan, records))


def _run(arm: Arm, role: str) -> Pretrain | None:
    run: Pretrain | None = getattr(arm.pretrain, role)
    return run


def _other_cost(
    arm: Arm, role: str, plan: Plan, records: Mapping[str, Record]
) -> dict[str, object]:
    """The same of a run that an arm builds on, under a name of its own."""
    run = _run(arm, role)
    assert run is not None
    cost = pretraining_cost(run)
    own = [key for (name, _), key in plan.pretrains.items() if name == arm.name]
    keys = {plan.stages[key].parents[role] for key in own}
    return {
        "arm": f"{role} of {arm.name}",
        "stage": "pretrain",
        "seconds": sum(records[key].metrics["seconds"] for key in keys if key in records),
        "tokens": cost.tokens,
        "parameters": cost.parameters,
        "flops": cost.flops,
    }


def _keys_by_kind(plan: Plan, arm: str) -> dict[str, list[str]]:
    cells: list[Cell] = [cell for cell in plan.cells if cell.arm == arm]
    finetunes = list(dict.fromkeys(cell.key for cell in cells))
    parents = [plan.stages[key].parents.get("tune") for key in finetunes]
    tunes = list(dict.fromkeys(key for key in parents if key))
    gathered = [plan.stages[key].parents.values() for key in tunes]
    trials = [key for keys in gathered for key in keys if plan.stages[key].kind == "trial"]
    keys = {
        "pretrain": list(
            dict.fromkeys(key for (name, _), key in plan.pretrains.items() if name == arm)
        ),
        "continued": list(dict.fromkeys(one.key for one in plan.continued if one.arm == arm)),
        "tune": [*tunes, *dict.fromkeys(trials)],
        "probe": list(dict.fromkeys(one.key for one in plan.probes if one.arm == arm)),
        "learn": _learned(plan, finetunes),
        "finetune": finetunes,
    }
    return {kind: found for kind, found in keys.items() if found}


def _learned(plan: Plan, finetunes: Sequence[str]) -> list[str]:
    """Keys of the stages of other tasks that the runs build on; each once."""
    found: dict[str, None] = {}
    waiting = list(finetunes)
    while waiting:
        parents = plan.stages[waiting.pop()].parents
        for key in (parents[role] for role in ("body", "head") if role in parents):
            if key not in found:
                found[key] = None
                waiting.append(key)
    return list(found)
