"""Expectations about arms that have learned nothing to compare, or nothing that is left to measure.

A difference between arms says something about how they were trained only if their training had an
effect (in experimental psychology, a manipulation check). An expectation is void if an arm that it
names is not significantly above chance, or above the same network without pretraining, or if all of
its arms are at the highest possible score.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from harness.analysis.averages import Term
from harness.analysis.columns import combine
from harness.analysis.comparison.differences import Outcome
from harness.analysis.results import Results
from harness.analysis.statistics.bootstrap import Difference
from harness.experiment.expectation import Expectation
from harness.leaderboard.build import experiment_table
from harness.report.chance_checks import UNTRAINED, chance_levels, controls
from harness.report.difference_tables import interval, points
from harness.report.run_checks import guesses, maximum
from harness.tasks.custom import tasks_of
from harness.tasks.probes import PROBES

ARCHITECTURE = ("pretrain.model.family", "pretrain.size")
"""Begin of the paths of the fields that a network and its untrained twin share."""


def void_reasons(results: Results, outcome: Outcome, one: Expectation) -> list[str]:
    """Why the results cannot confirm or refute an expectation; empty if they can. Expectations that
    name a network without pretraining are themselves about the effect of training.

    Args:
        outcome: what the expectation is about, a column, an average or a probe.
    """
    known = controls(results)
    if UNTRAINED in map(known.get, one.arms):
        return []
    arms = [arm for arm in one.arms if arm not in known and not guesses(results, arm)]
    floor = _level(outcome.terms, _chance(results, one.outcome))
    found = [reason for arm in arms for reason in _low(results, outcome, arm, floor)]
    top = _level(outcome.terms, _maxima(results))
    if not found and top is not None and len(arms) > 1:
        below = [outcome.above(arm, top) for arm in arms]
        if all(gap and gap.high >= 0 for gap in below):
            found = [f"{' and '.join(arms)} are at the highest possible score ({top:.1f})"]
    return found


def _low(results: Results, outcome: Outcome, arm: str, floor: float | None) -> Iterator[str]:
    """What an arm is not significantly above."""
    if floor is not None:
        gap = outcome.above(arm, floor)
        if gap and gap.low <= 0:
            yield f"{arm} is not significantly above chance ({floor:.1f}; {_shown(gap)})"
            return
    for control in untrained_twins(results, arm):
        gap = outcome.contrast({arm: 1, control: -1})
        if gap and gap.low <= 0:
            yield f"{arm} is not significantly above {control}, {UNTRAINED} ({_shown(gap)})"
            return


def untrained_twins(results: Results, arm: str) -> list[str]:
    """The networks without pretraining that are evaluated as an arm is: those of its architecture,
    or if there are none, of any."""
    fields = results.plan.differences.items()
    ways = [of for path, of in fields if not path.startswith("pretrain.")]
    shape = [of for path, of in fields if path.startswith(ARCHITECTURE)]
    known = [name for name, kind in controls(results).items() if kind == UNTRAINED]
    known = [name for name in known if all(of.get(name) == of.get(arm) for of in ways)]
    alike = [name for name in known if all(of.get(name) == of.get(arm) for of in shape)]
    return alike or known


def _chance(results: Results, outcome: str) -> Mapping[str, float]:
    """Column to the score x 100 of the best guess; of a probe, of random guesses."""
    if outcome in PROBES:
        return {outcome: 100 * PROBES[outcome].chance}
    return chance_levels(results, results.get(experiment_table))


def _maxima(results: Results) -> Mapping[str, float]:
    tasks = tasks_of(results.suite)
    table = results.get(experiment_table)
    return {column.name: maximum(tasks[column.task], column) for column in table.columns}


def _level(terms: Sequence[Term], levels: Mapping[str, float]) -> float | None:
    """The mean over terms of the levels of their columns; null if one is not known."""
    columns = [column for term in terms for column in term]
    if not all(column.name in levels for column in columns):
        return None
    return float(combine(terms, {column: np.array(levels[column.name]) for column in columns}))


def _shown(found: Difference) -> str:
    return f"{points(found.estimate)} points, {interval(found)}"
