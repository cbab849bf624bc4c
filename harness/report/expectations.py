"""The differences that an experiment expects: in the average, a column, a probe or a loss."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeGuard

from harness.analysis.comparison.differences import (
    AVERAGE,
    LEVEL,
    Comparer,
    Outcome,
    enough_seeds,
    same_checkpoints,
)
from harness.analysis.comparison.probes import probe_runs
from harness.analysis.comparison.seed_scores import compared_by_seeds
from harness.analysis.frames.runs import pretrain_runs_frame
from harness.analysis.frames.scores import probe_items_frame
from harness.analysis.results import Results
from harness.analysis.statistics.bootstrap import Difference, Runs
from harness.analysis.statistics.multiple_testing import holm
from harness.experiment.expectation import LOSSES, Comparison, Expectation
from harness.report.manipulation_checks import void_reasons
from harness.report.sections.transfer import comparable
from harness.report.verdict import Claim
from harness.tasks.probes.columns import probe_columns


def claims(results: Results, compared: Comparer) -> list[Claim]:
    """The expectations of the experiment in their order, with p by Holm among them.

    Args:
        compared: compares arms in the columns and the average (`harness.leaderboard.build`).
    """
    checkpoints = [arm.name for arm in results.plan.arms if arm.has_one_run]
    found = []
    for one in results.experiment.expectations:
        if not set(one.arms) <= set(results.arms):
            continue
        outcome = _outcome(results, compared, one)
        single = [arm for arm in one.arms if arm in checkpoints]
        void = void_reasons(results, outcome, one) if outcome else []
        found.append(Claim(one, _difference(results, outcome, one), single, void=void))
    return list(_adjusted(found))


def named_pairs(results: Results) -> list[tuple[str, str]]:
    """The two arms of the comparisons in the average, better one first."""
    return [
        (one.better, one.worse)
        for one in results.experiment.expectations
        if is_pair(one) and set(one.arms) <= set(results.arms)
    ]


def is_pair(expectation: Expectation) -> TypeGuard[Comparison]:
    """Whether it says which of two arms has the higher average, as the pairs of a report do."""
    return isinstance(expectation, Comparison) and expectation.outcome == AVERAGE


def _adjusted(found: Sequence[Claim]) -> Iterator[Claim]:
    """The claims with p by Holm among those with enough seeds."""
    judged = [one.found.p_value for one in found if one.found and enough_seeds(one.found)]
    adjusted = iter(holm(judged))
    for one in found:
        known = one.found and enough_seeds(one.found)
        yield replace(one, adjusted=float(next(adjusted))) if known else one


def _outcome(results: Results, compared: Comparer, one: Expectation) -> Outcome | None:
    """What an expectation is about; null if it is a loss."""
    if one.outcome in LOSSES:
        return None
    if one.outcome in compared.outcomes:
        return compared.outcomes[one.outcome]
    column = probe_columns(results.experiment.evaluate.probes)[one.outcome]
    paired = same_checkpoints(results.plan.differences)
    return Outcome(results.get(_probe_runs), [(column,)], paired)


def _difference(results: Results, outcome: Outcome | None, one: Expectation) -> Difference | None:
    """The weighted sum over arms that an expectation is about; null if an arm has no value."""
    margin = getattr(one, "margin", None)
    if outcome is None:
        return _of_losses(results, one, margin)
    return outcome.contrast(one.weights, margin)


def _of_losses(results: Results, one: Expectation, margin: float | None) -> Difference | None:
    """Null if the losses of the arms cannot be compared."""
    runs = results.get(pretrain_runs_frame)
    losses = runs.dropna(subset=one.outcome).groupby("arm")[one.outcome]
    groups = comparable(results, by_byte=one.outcome == "bits_per_byte")
    group = next((group for group in groups if set(one.arms) <= set(group)), ())
    values = {str(arm): own.to_numpy(float) for arm, own in losses if arm in group}
    if not set(one.arms) <= values.keys():
        return None
    return compared_by_seeds(values, LEVEL)(one.weights, margin)


def _probe_runs(results: Results) -> Mapping[str, Mapping[str, Runs]]:
    return probe_runs(results.get(probe_items_frame), results.arms)
