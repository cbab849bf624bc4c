"""Stages restored from an archive, which left out their weights and tokens."""

from harness.plan.plan import Plan
from harness.store.store import StageResult, Store


def forget_partial(plan: Plan, store: Store, finished: dict[str, StageResult]) -> int:
    """Takes out of `finished` the stages that lack files and that a stage to compute starts from,
    and marks them as failed, so that they are computed again.

    Returns:
        Their number.
    """
    before = len(finished)
    while partial := _partial_parents(plan, finished):
        for key in partial:
            store.forget(finished.pop(key))
    return before - len(finished)


def _partial_parents(plan: Plan, finished: dict[str, StageResult]) -> list[str]:
    parents = {key for stage in plan.to_compute(finished) for key in stage.parents.values()}
    return sorted(key for key in parents & finished.keys() if finished[key].left_out)
