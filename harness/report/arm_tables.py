"""What sets arms apart, and what each one costs, as tables."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from harness.analysis.frames.costs import costs_frame
from harness.analysis.results import Results
from harness.leaderboard.cells import MISSING
from harness.leaderboard.table import protocol_line
from harness.leaderboard.text_tables import TextTable
from harness.plan.differences import condensed, differences_from_first
from harness.plan.stage_kinds import STAGE_KINDS
from harness.report.sections.pretraining import shared_runs
from harness.report.verdict import MANY_ARMS

PLANNED = "by the declared vocabulary"
"""Of which fewer entries may be learned, where text is short."""
COSTS = {"parameters": "{:,.0f}", "tokens": "{:,.0f}", "flops": "{:.2e}"}


def what_differs(results: Results) -> TextTable:
    """Field by field; of many arms only what sets each one apart from the first."""
    if len(results.arms) > MANY_ARMS and results.plan.differences:
        apart = differences_from_first(results.plan.differences, results.arms)
        lines = [
            [arm, "; ".join(f"{path} = {_value(value)}" for path, value in fields)]
            for arm, fields in apart.items()
        ]
        return TextTable(
            ["arm", f"where it is not as {results.arms[0]}"], lines, text_columns=(0, 1)
        )
    rows = [
        [path, *(_value(values.get(arm)) for arm in results.arms)]
        for path, values in condensed(results.plan.differences)
    ]
    return TextTable(["field", *results.arms], rows, text_columns=range(len(results.arms) + 1))


def _value(value: Any) -> str:
    if isinstance(value, list | tuple):
        return "; ".join(_value(item) for item in value) or MISSING
    if isinstance(value, Mapping):
        return protocol_line(value)
    if isinstance(value, float):
        return f"{value:g}"
    return MISSING if value is None else str(value)


def cost(results: Results) -> TextTable:
    """Parameters, tokens and FLOPs of one pretraining seed, as planned; arms that share it in one
    row."""
    costs = results.get(costs_frame)[results.get(costs_frame)["stage"] == "pretrain"].set_index(
        "arm"
    )
    firsts = {name: arms[0] for name, arms in shared_runs(results).items()}
    others = {str(name): str(name) for name in costs.index if name not in results.arms}
    rows = [
        [name, *(_figure(costs, arm, column, form) for column, form in COSTS.items())]
        for name, arm in {**firsts, **others}.items()
    ]
    return TextTable(["arm", f"parameters ({PLANNED})", "tokens", f"FLOPs ({PLANNED})"], rows)


def time(results: Results) -> TextTable:
    """Seconds over all stages of each kind."""
    costs = results.get(costs_frame)
    kinds = [kind for kind in STAGE_KINDS if (costs["stage"] == kind).any()]
    rows = []
    for arm in results.arms:
        here = costs[costs["arm"] == arm].set_index("stage")
        rows.append([arm, *(_figure(here, kind, "seconds", "{:,.1f}") for kind in kinds)])
    return TextTable(["arm", *kinds], rows if kinds else [])


def _figure(frame: pd.DataFrame, row: str, column: str, form: str) -> str:
    value = frame[column].astype(float).get(row, np.nan)
    return MISSING if np.isnan(value) else form.format(value)
