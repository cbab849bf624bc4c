"""Total cost of continued pretraining of an arm."""

from collections.abc import Sequence

from harness.plan.costs import Cost
from harness.plan.plan import ContinuedRun, Plan


def continued_runs(plan: Plan, arm: str) -> list[ContinuedRun]:
    """The continued runs of an arm, for all pretraining seeds."""
    return [run for run in plan.continued_runs if run.arm == arm]


def total_continued_cost(plan: Plan, arm: str) -> Cost | None:
    """The cost of all continued runs of an arm for one pretraining seed; null if it has none. A sum
    with an unknown term is null."""
    runs = continued_runs(plan, arm)
    if not runs:
        return None
    first_seed = runs[0].pretrain_seed
    costs = list({run.key: run.cost for run in runs if run.pretrain_seed == first_seed}.values())
    steps, tokens, flops = (
        _sum([getattr(cost, name) for cost in costs]) for name in ("steps", "tokens", "flops")
    )
    return Cost(
        None if steps is None else round(steps),
        None if tokens is None else round(tokens),
        costs[0].parameters,
        flops,
    )


def _sum(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None
