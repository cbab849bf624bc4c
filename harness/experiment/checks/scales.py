"""Checks of expectations about scores whose verdict no result could change."""

from harness.experiment.checks.grid import Problems, declared_expectations
from harness.experiment.expectation import Equality, Expectation, Level, NonInferiority
from harness.experiment.experiment import Experiment
from harness.experiment.outcomes import AVERAGE, GAP, reached_level
from harness.tasks.metrics import METRICS
from harness.tasks.probes.columns import probe_columns
from harness.tasks.task import Column

MOST = 100.0
"""The highest possible score x 100."""
Scale = tuple[float, float]
"""The lowest and the highest possible value."""


def scale_problems(experiment: Experiment) -> Problems:
    """Margins that are as large as the scale of a score, and levels outside of it."""
    known = _scales(experiment)
    for keys, expected in declared_expectations(experiment):
        if problem := _problem(expected, known):
            where = ".".join(map(str, keys[:-1]))
            yield keys, f"{where}: '{expected}' holds or fails whatever the results, as {problem}"


def _problem(expected: Expectation, known: dict[str, Scale]) -> str:
    """Why the results cannot matter; empty if they can."""
    reached = reached_level(expected.outcome)
    outcome = reached.score if reached else expected.outcome
    parts = [known.get(part) for part in outcome.split(GAP)]
    scales = [part for part in parts if part]
    if len(scales) < len(parts):
        return ""
    low, high = scales[0]
    if len(scales) > 1:
        low, high = low - scales[1][1], high - scales[1][0]
    named = f"the {AVERAGE}" if outcome == AVERAGE else outcome
    lies = f"{named} lies between {low:g} and {high:g}"
    if reached and not low < reached.level <= high:
        return lies
    if isinstance(expected, (Equality, NonInferiority)) and expected.margin >= high - low:
        return lies
    if isinstance(expected, Level) and not reached:
        above = low <= expected.level < high and expected.side == "above"
        below = low < expected.level <= high and expected.side == "below"
        return "" if above or below else lies
    return ""


def _scales(experiment: Experiment) -> dict[str, Scale]:
    """The average, columns and probes to their scales, without those of unknown metrics. That of
    the average is the widest of its columns."""
    evaluate = experiment.evaluate
    columns = [one for one in evaluate.suite_value.columns if one.task in evaluate.chosen]
    found = {one.name: scale for one in columns if (scale := _scale(one))}
    average = {AVERAGE: (min(low for low, _ in found.values()), MOST)} if found else {}
    probes = probe_columns(evaluate.probes).items()
    return found | average | {name: scale for name, one in probes if (scale := _scale(one))}


def _scale(column: Column) -> Scale | None:
    known = [METRICS[name].least for name in column.metrics if name in METRICS]
    return (MOST * sum(known) / len(known), MOST) if len(known) == len(column.metrics) else None
