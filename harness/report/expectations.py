"""The differences that an experiment expects: in the average, a column, a probe or a quantity."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeGuard

import numpy as np

from harness.analysis.comparison.differences import (
    AVERAGE,
    LEVEL,
    Comparer,
    Outcome,
    dependent_runs,
    enough_seeds,
)
from harness.analysis.comparison.probes import probe_runs
from harness.analysis.comparison.seed_scores import compared_by_seeds
from harness.analysis.frames.quantities import quantity_values
from harness.analysis.frames.scores import probe_items_frame
from harness.analysis.results import Results
from harness.analysis.statistics.bootstrap import Difference, Runs
from harness.analysis.statistics.multiple_testing import holm
from harness.experiment.expectation import Comparison, Expectation, Level, Trend
from harness.experiment.outcomes import GAP, LOSSES
from harness.report.declared import predicted_line
from harness.report.looks import at_look, current_look
from harness.report.manipulation_checks import void_reasons
from harness.report.sections.transfer import comparable
from harness.report.verdict import Claim
from harness.tasks.probes.columns import probe_columns


def claims(results: Results, compared: Comparer) -> list[Claim]:
    """The expectations of the experiment in their order, with p by Holm among them. With declared
    looks, those of the last look that every arm has reached.

    Args:
        compared: compares arms in the columns and the average (`harness.leaderboard.build`).
    """
    if look := results.get(current_look):
        results, compared = at_look(results, look, compared)
    known = [one for one in results.experiment.expectations if set(one.arms) <= set(results.arms)]
    number = sum(not one.is_counted for one in known)
    found = [_claim(results, compared, one, max(1, number)) for one in known]
    return list(_adjusted([look.judged(one) for one in found] if look else found))


def _claim(results: Results, compared: Comparer, one: Expectation, number: int) -> Claim:
    """An expectation of a number, without p by Holm."""
    outcome = _outcome(results, compared, one)
    checkpoints = [arm.name for arm in results.plan.arms if arm.has_one_run]
    return Claim(
        one,
        _difference(results, outcome, one),
        [arm for arm in one.arms if arm in checkpoints],
        void=_void(results, compared, outcome, one),
        reversed_steps=_reversed_steps(results, outcome, one) if isinstance(one, Trend) else (),
        predicted=predicted_line(results, one),
        level=(1 - LEVEL) / number,
    )


def _void(
    results: Results, compared: Comparer, outcome: Outcome | None, one: Expectation
) -> Sequence[str]:
    """Why a comparison of scores says nothing. A level may be that of chance or of the highest
    score. Of a gap, arms must have learned its first part."""
    if outcome is None or isinstance(one, Level):
        return ()
    first, *others = one.outcome.split(GAP)
    learned = _of_scores(results, compared, first) if others else None
    return void_reasons(results, outcome, one, learned)


def _reversed_steps(results: Results, outcome: Outcome | None, one: Trend) -> list[str]:
    """Neighbours of a trend that differ significantly in the other direction."""
    found = []
    for better, worse in one.steps:
        step = Comparison(better=worse, worse=better, outcome=one.outcome)
        gap = _difference(results, outcome, step)
        if gap and _is_decided(one, gap) and _lies_beyond(one, gap):
            found.append(step.text)
    return found


def _is_decided(one: Expectation, gap: Difference) -> bool:
    return one.is_counted or enough_seeds(gap)


def _lies_beyond(one: Expectation, gap: Difference) -> bool:
    """Whether the interval lies on the side of the better arm."""
    return gap.high < 0 if one.expected_side == "below" else gap.low > 0


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
    """The claims with p by Holm among those with enough seeds; of what is counted, there is no
    p."""
    adjusted = iter(holm([one.found.p_value for one in found if one.found and _is_tested(one)]))
    for one in found:
        yield replace(one, adjusted=float(next(adjusted))) if _is_tested(one) else one


def _is_tested(one: Claim) -> bool:
    return one.found is not None and enough_seeds(one.found) and not one.is_counted


def _outcome(results: Results, compared: Comparer, one: Expectation) -> Outcome | None:
    """What an expectation is about; null if it is a quantity."""
    return None if one.quantities else _of_scores(results, compared, one.outcome)


def _of_scores(results: Results, compared: Comparer, name: str) -> Outcome:
    """The average, a column, a probe, or a gap between two columns or two probes."""
    if name in compared.outcomes:
        return compared.outcomes[name]
    first, *others = name.split(GAP)
    if others and first in compared.outcomes:
        return compared.gap(first, others[0])
    columns = probe_columns(results.experiment.evaluate.probes)
    paired = dependent_runs(results.experiment, results.plan.differences)
    minus = [(columns[other],) for other in others]
    runs = results.get(_probe_runs)
    return Outcome(runs, [(columns[first],)], paired, minus, results.coverage)


def _difference(results: Results, outcome: Outcome | None, one: Expectation) -> Difference | None:
    """The weighted sum over arms that an expectation is about, minus the level of a `Level`; null
    if an arm has no value."""
    margin = getattr(one, "margin", None)
    if outcome is None:
        return _of_quantity(results, one, margin)
    if isinstance(one, Level):
        return outcome.above(one.arm, one.level)
    return outcome.contrast(one.weights, margin)


def _of_quantity(results: Results, one: Expectation, margin: float | None) -> Difference | None:
    """Null if an arm has no value, or the losses of the arms cannot be compared."""
    values = _values(results, one)
    if not set(one.arms) <= values.keys():
        return None
    if one.is_counted:
        return _exact(sum(weight * float(values[arm][0]) for arm, weight in one.weights.items()))
    weights = _of_runs(one.weights, values)
    if isinstance(one, Level) or len(weights) > 1:
        return compared_by_seeds(values, results.coverage)(weights, margin)
    return None


def _values(results: Results, one: Expectation) -> Mapping[str, np.ndarray]:
    """Arm to its values of a quantity, or of one minus another, above the level of a `Level`."""
    first, *others = (quantity_values(results, name) for name in one.outcome.split(GAP))
    zero = one.level if isinstance(one, Level) else 0.0
    values = {arm: own - zero for arm, own in first.items()}
    for other in others:
        shared = [arm for arm, own in values.items() if len(own) == len(other.get(arm, ()))]
        values = {arm: values[arm] - other[arm] for arm in shared}
    if one.outcome not in LOSSES:
        return values
    groups = comparable(results, by_byte=one.outcome == "bits_per_byte")
    group = next((group for group in groups if set(one.arms) <= set(group)), ())
    return {arm: own for arm, own in values.items() if arm in group}


def _exact(difference: float) -> Difference:
    return Difference(difference, difference, difference, p_value=float(difference == 0))


def _of_runs(weights: Mapping[str, float], values: Mapping[str, np.ndarray]) -> dict[str, float]:
    """The weights with one arm for all that have the same runs, and equal values."""
    merged: dict[str, float] = {}
    for arm, weight in weights.items():
        same = [name for name in merged if np.array_equal(values[name], values[arm])]
        name = same[0] if same else arm
        merged[name] = merged.get(name, 0.0) + weight
    # The middle of a trend has no weight, but must have runs.
    return {name: weight for name, weight in merged.items() if weight or not weights[name]}


def _probe_runs(results: Results) -> Mapping[str, Mapping[str, Runs]]:
    return probe_runs(results.get(probe_items_frame), results.arms)
