"""What differs between the arms, and how long each one took, as tables."""

from collections.abc import Mapping
from typing import Any

from harness.analysis.frames.costs import costs_frame
from harness.analysis.results import Results
from harness.leaderboard.cells import MISSING, number_cell
from harness.leaderboard.table import protocol_line
from harness.leaderboard.text_tables import TextTable
from harness.plan.differences import condensed, differences_from_first
from harness.plan.stage_kinds import STAGE_KINDS
from harness.report.pairwise import MANY_ARMS


def what_differs(results: Results) -> TextTable:
    """The fields in which arms differ; of many arms, how each one differs from the first."""
    if len(results.arms) > MANY_ARMS and results.plan.differences:
        changes = differences_from_first(results.plan.differences, results.arms)
        rows = [
            [arm, "; ".join(f"{path} = {value_text(value)}" for path, value in fields)]
            for arm, fields in changes.items()
        ]
        return TextTable(["arm", f"differs from {results.arms[0]} in"], rows, (0, 1))
    rows = [
        [path, *(value_text(values.get(arm)) for arm in results.arms)]
        for path, values in condensed(results.plan.differences)
    ]
    return TextTable(["field", *results.arms], rows, text_columns=range(len(results.arms) + 1))


def value_text(value: Any) -> str:
    """A field's value as text; a dash for null."""
    if isinstance(value, list | tuple):
        return "; ".join(value_text(item) for item in value) or MISSING
    if isinstance(value, Mapping):
        return protocol_line(value)
    if isinstance(value, float):
        return f"{value:g}"
    return MISSING if value is None else str(value)


def time(results: Results) -> TextTable:
    """Seconds of each arm, summed over all stages of a kind."""
    costs = results.get(costs_frame)
    kinds = [kind for kind in STAGE_KINDS if (costs["stage"] == kind).any()]
    rows = []
    for arm in results.arms:
        seconds = costs[costs["arm"] == arm].set_index("stage")["seconds"]
        rows.append([arm, *(number_cell(seconds.get(kind), "{:,.1f}") for kind in kinds)])
    return TextTable(["arm", *kinds], rows if kinds else [])
