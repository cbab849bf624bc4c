"""What is known of an experiment before it runs: costs, warnings, duration on this machine."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.execution.backends import DEFAULT_BACKEND
from harness.execution.backends.processes import cpu_jobs, default_jobs
from harness.execution.estimate import Estimate, estimate
from harness.execution.rekeyed import Rekeyed, rekeyed
from harness.execution.run_times import learned_run_times
from harness.execution.time_left import Durations, learned_durations, used_gpu
from harness.plan.checks import plan_warnings
from harness.plan.learned_vocabularies import with_learned_vocabularies
from harness.plan.plan import Plan, Stage
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
    todo: Sequence[Stage]
    """Unfinished stages."""
    learned: Durations
    """Durations of stages that ended on this machine."""
    rekeyed: tuple[Rekeyed, ...] = ()
    """Unfinished stages that were finished before a change."""


def outlook(plan: Plan, store: Store | None, jobs: int | None = None) -> Outlook:
    """What is known of a plan before it runs. Reads local data and the store, never the network.

    Args:
        store: results of earlier runs; null: none.
        jobs: stages that run at a time; null: the default of a run.
    """
    finished: Mapping[str, StageResult] = store.finished() if store else {}
    known = with_learned_vocabularies(plan, {key: one.metrics for key, one in finished.items()})
    compute = plan.experiment.compute
    on_gpu = compute.accelerator != "cpu" and used_gpu(finished.values())
    default = cpu_jobs(compute.threads) if compute.devices == 1 else 1
    if on_gpu and compute.devices == 1:  # else without torch, which counts the GPUs
        default = default_jobs(compute, plan.has_small_networks)
    times = learned_run_times(store.root, DEFAULT_BACKEND) if store else None
    todo, learned = plan.to_compute(finished), learned_durations(finished.values(), times)
    expected = estimate(todo, learned, jobs or default)
    warnings = (*plan_warnings(known), *_beside_earlier(known, store))
    changed = tuple(rekeyed(plan, store, finished)) if store else ()
    return Outlook(known, warnings, expected, todo, learned, changed)


def _beside_earlier(plan: Plan, store: Store | None) -> list[str]:
    if store is None or not store.experiments():
        return []
    from harness.execution.earlier_budgets import chance_budgets  # loads pandas
    from harness.execution.same_name import same_name

    return [*same_name(plan, store), *chance_budgets(plan, store)]
