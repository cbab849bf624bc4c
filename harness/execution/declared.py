"""Expectations of a plan, and how many of their results there are before it runs."""

from collections.abc import Iterator, Mapping

from harness.experiment.expectation import Expectation, RankAgreement
from harness.plan.plan import Plan
from harness.store.declared import is_recorded, record_declared
from harness.store.recorded import recorded_experiments
from harness.store.store import StageResult, Store


def remember_expectations(plan: Plan, store: Store, done: Mapping[str, StageResult]) -> None:
    """Keeps in the store which results there were when the expectations and looks of a plan were
    declared first. That is not known of an experiment which an earlier version has run.

    Args:
        done: the finished stages of the store.
    """
    name = plan.experiment.name
    is_known = is_recorded(store.root, name) or all(
        one.name != name for one in recorded_experiments(store)
    )
    found = [
        (one.declared_as, len(keys & done.keys()) if is_known else None, len(keys))
        for one in plan.experiment.expectations
        for keys in [set(_results(plan, one))]
    ]
    if looks := plan.experiment.seeds.looks_text:
        keys = {key for one in plan.experiment.expectations for key in _results(plan, one)}
        found.append((looks, len(keys & done.keys()) if is_known else None, len(keys)))
    record_declared(store.root, name, found)


def _results(plan: Plan, one: Expectation) -> Iterator[str]:
    """The keys of the stages with results for an expectation."""
    if one.quantities or isinstance(one, RankAgreement):  # which may be that of a quantity
        yield from (key for (arm, _), key in plan.pretrain_keys.items() if arm in one.arms)
    for runs in (plan.finetune_runs, plan.probe_runs, plan.sequential_scores):
        yield from (run.key for run in runs if run.arm in one.arms)
