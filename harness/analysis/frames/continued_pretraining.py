"""What the store holds of runs that went on from a pretrained model, as frames."""

import math
from collections.abc import Mapping, Sequence

import pandas as pd

from harness.plan.costs import Cost
from harness.plan.plan import Continuation, Plan
from harness.store.store import Record

LOSS_COLUMNS = [
    "arm",
    "task",
    "step",
    "corpus",
    "pretrain_seed",
    "before",
    "after",
    "old_before",
    "old_after",
    "key",
]


def losses_frame(plan: Plan, records: Mapping[str, Record]) -> pd.DataFrame:
    """Held-out losses around each continued run (Gururangan et al. 2020, table 1), in nats a token.

    One row per arm, task, step (the number of the run among those of the arm, from 0) and
    pretraining seed; rows of tasks that share a run have equal `key`s. `corpus` says what was read;
    `before` and `after` are losses on its held-out text, `old_before` and `old_after` on that of
    the pretraining, under its objective. NaN where none is told: of an unfinished stage, of models
    that name no tokens, and for the pretraining of a checkpoint.
    """
    rows = [
        (
            *(one.arm, one.task, one.step, one.corpus, one.pretrain_seed),
            *(
                _loss(key, records)
                for key in (
                    one.before,
                    one.key if one.before else None,
                    one.old_before,
                    one.old_after,
                )
            ),
            one.key,
        )
        for one in plan.continued
    ]
    return pd.DataFrame(rows, columns=LOSS_COLUMNS)


def _loss(key: str | None, records: Mapping[str, Record]) -> float:
    value = records[key].metrics.get("validation_loss") if key in records and key else None
    return math.nan if value is None else value


def continued_cost(plan: Plan, arm: str) -> Cost | None:
    """What all continued runs of an arm take together, under one pretraining seed; null where it
    has none. A sum with an unknown part is null."""
    seeds = [one.pretrain_seed for one in plan.continued if one.arm == arm]
    runs = {one.key: one.cost for one in _of(plan, arm) if one.pretrain_seed == seeds[0]}
    costs = list(runs.values())
    if not costs:
        return None
    steps, tokens, flops = (
        _sum([getattr(cost, name) for cost in costs]) for name in ("steps", "tokens", "flops")
    )
    return Cost(
        None if steps is None else round(steps),
        None if tokens is None else round(tokens),
        costs[0].parameters,
        flops,
    )


def continued_costs(plan: Plan, records: Mapping[str, Record]) -> list[dict[str, object]]:
    """A row of `costs_frame` for the continued runs of each arm that has any."""
    rows: list[dict[str, object]] = []
    for arm in plan.arms:
        if cost := continued_cost(plan, arm.name):
            keys = dict.fromkeys(one.key for one in _of(plan, arm.name))
            rows.append(
                {
                    "arm": f"continued runs of {arm.name}",
                    "stage": "pretrain",
                    "seconds": sum(records[k].metrics["seconds"] for k in keys if k in records),
                    "tokens": cost.tokens,
                    "parameters": cost.parameters,
                    "flops": cost.flops,
                }
            )
    return rows


def _of(plan: Plan, arm: str) -> list[Continuation]:
    return [one for one in plan.continued if one.arm == arm]


def _sum(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None
