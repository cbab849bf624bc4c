"""What is known of an experiment before it runs: costs, warnings, duration on this machine."""

import os
from collections.abc import Mapping
from dataclasses import dataclass

from harness.execution.backends.processes import MAX_JOBS
from harness.execution.estimate import Estimate, estimate
from harness.execution.time_left import learned_durations, used_gpu
from harness.plan.checks import plan_warnings
from harness.plan.learned_vocabularies import with_learned_vocabularies
from harness.plan.plan import Plan
from harness.store.store import StageResult, Store


@dataclass(frozen=True)
class Outlook:
    """A plan beside the results of earlier runs."""

    plan: Plan
    """With costs by the learned vocabularies where these are known."""
    warnings: tuple[str, ...]
    """One line each: what was found, and what to change."""
    estimate: Estimate
    """Of the stages that are not finished."""


def outlook(plan: Plan, store: Store | None, jobs: int | None = None) -> Outlook:
    """What is known of a plan before it runs. Reads local data and the store, never the network.

    Args:
        store: results of earlier runs; null: none.
        jobs: stages that run at a time; null: the default of a run.
    """
    finished: Mapping[str, StageResult] = store.finished() if store else {}
    known = with_learned_vocabularies(plan, {key: one.metrics for key, one in finished.items()})
    default = 1 if used_gpu(finished.values()) else min(MAX_JOBS, os.cpu_count() or 1)
    expected = estimate(
        plan.to_compute(finished), learned_durations(finished.values()), jobs or default
    )
    return Outlook(known, (*plan_warnings(known), *_beside_earlier(known, store)), expected)


def _beside_earlier(plan: Plan, store: Store | None) -> list[str]:
    if store is None or not store.experiments():
        return []
    from harness.execution.earlier_budgets import chance_budgets  # loads pandas

    return list(chance_budgets(plan, store))
