"""What an expectation is about, and the difference of its arms in it."""

from collections.abc import Mapping

import numpy as np

from harness.analysis.comparison.differences import Comparer, Outcome, dependent_runs
from harness.analysis.comparison.probes import probe_runs
from harness.analysis.comparison.seed_scores import compared_by_seeds
from harness.analysis.frames.quantities import quantity_values
from harness.analysis.frames.scores import probe_items_frame
from harness.analysis.results import Results
from harness.analysis.statistics.bootstrap import Difference, Runs
from harness.experiment.expectation import Equality, Expectation, Level
from harness.experiment.outcomes import GAP, LOSSES, QUANTITIES, reached_level
from harness.report.reached_levels import ReachedAmounts, reached_amounts
from harness.report.sections.transfer import comparable
from harness.tasks.probes.columns import probe_columns

MEMORY = "peak_memory_bytes"


def outcome_of(results: Results, compared: Comparer, one: Expectation) -> Outcome | None:
    """What an expectation is about; null if it is a quantity."""
    return None if one.quantities else outcome_of_scores(results, compared, one.outcome)


def outcome_of_scores(results: Results, compared: Comparer, name: str) -> Outcome:
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


def difference_of(results: Results, outcome: Outcome | None, one: Expectation) -> Difference | None:
    """The weighted sum over arms that an expectation is about, minus the level of a `Level`; null
    if an arm has no value."""
    margin = one.margin if isinstance(one, Equality) else None
    if outcome is None:
        return _of_quantity(results, one, margin)
    if isinstance(one, Level):
        return outcome.above(one.arm, one.level)
    return outcome.contrast(one.weights, margin, one.bound)


def _of_quantity(results: Results, one: Expectation, margin: float | None) -> Difference | None:
    """Null if an arm has no value, or the losses of the arms cannot be compared. Values that are
    equal in all runs have a difference of exactly 0; memory, which is calculated, has no spread
    where the longest texts are the same."""
    values = values_of(results, one)
    if not set(one.arms) <= values.keys():
        return None
    has_no_spread = all(np.ptp(values[arm]) == 0 for arm in one.arms)
    if one.is_counted or (one.outcome == MEMORY and has_no_spread):
        return exact(sum(weight * float(values[arm][0]) for arm, weight in one.weights.items()))
    # Values that are cut off at the same tokens are equal, but of other runs.
    cut_off = reached_level(one.outcome) is not None
    weights = one.weights if cut_off else _of_runs(one.weights, values)
    if isinstance(one, Level) or len(weights) > 1:
        return compared_by_seeds(values, results.coverage)(weights, margin, one.bound)
    return exact(0.0)


def values_of(results: Results, one: Expectation) -> Mapping[str, np.ndarray]:
    """Arm to its values of a quantity, or of one minus another, above the level of a `Level`:
    arrays [S] with one value per pretraining seed."""
    if curves := curves_of(results, one):
        return curves.values
    first, *others = one.outcome.split(GAP)
    zero = one.level if isinstance(one, Level) else 0.0
    values = {arm: own - zero for arm, own in quantity_values(results, first).items()}
    for name in others:
        other = quantity_values(results, name)
        # What is counted has one value for all seeds.
        is_one = QUANTITIES[first].is_counted or QUANTITIES[name].is_counted
        shared = [a for a in values if a in other and (is_one or len(values[a]) == len(other[a]))]
        values = {arm: values[arm] - other[arm] for arm in shared}
    if one.outcome not in LOSSES:
        return values
    groups = comparable(results, by_byte=one.outcome == "bits_per_byte")
    group = next((group for group in groups if set(one.arms) <= set(group)), ())
    return {arm: own for arm, own in values.items() if arm in group}


def curves_of(results: Results, one: Expectation) -> ReachedAmounts | None:
    """When runs reach the level that an expectation is about; null if it is about no level."""
    reached = reached_level(one.outcome)
    return reached_amounts(results, reached, one.arms) if reached else None


def exact(difference: float) -> Difference:
    """A difference that is the same in every run."""
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
