"""What sets arms apart, and what each one costs, as tables."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from harness.leaderboard.cells import MISSING
from harness.leaderboard.table import protocol_line
from harness.plan.differences import apart_from_the_first, condensed
from harness.report.data import ReportData
from harness.report.layout import Grid
from harness.report.sections.pretraining import shared_runs
from harness.report.verdict import MANY_ARMS

STAGE_KINDS = ("pretrain", "continued", "probe", "tune", "learn", "finetune")
PLANNED = "by the declared vocabulary"
"""Of which fewer entries may be learned, where text is short."""
COSTS = {"parameters": "{:,.0f}", "tokens": "{:,.0f}", "flops": "{:.2e}"}


def what_differs(data: ReportData) -> Grid:
    """Field by field; of many arms only what sets each one apart from the first."""
    if len(data.arms) > MANY_ARMS and data.differences:
        apart = apart_from_the_first(data.differences, data.arms)
        lines = [
            [arm, "; ".join(f"{path} = {_value(value)}" for path, value in fields)]
            for arm, fields in apart.items()
        ]
        return Grid(["arm", f"where it is not as {data.arms[0]}"], lines, text_columns=(0, 1))
    rows = [
        [path, *(_value(values.get(arm)) for arm in data.arms)]
        for path, values in condensed(data.differences)
    ]
    return Grid(["field", *data.arms], rows, text_columns=range(len(data.arms) + 1))


def _value(value: Any) -> str:
    if isinstance(value, list | tuple):
        return "; ".join(_value(item) for item in value) or MISSING
    if isinstance(value, Mapping):
        return protocol_line(value)
    if isinstance(value, float):
        return f"{value:g}"
    return MISSING if value is None else str(value)


def cost(data: ReportData) -> Grid:
    """Parameters, tokens and FLOPs of one pretraining seed, as planned; arms that share it in one
    row."""
    costs = data.costs[data.costs["stage"] == "pretrain"].set_index("arm")
    firsts = {name: arms[0] for name, arms in shared_runs(data).items()}
    others = {str(name): str(name) for name in costs.index if name not in data.arms}
    rows = [
        [name, *(_figure(costs, arm, column, form) for column, form in COSTS.items())]
        for name, arm in {**firsts, **others}.items()
    ]
    return Grid(["arm", f"parameters ({PLANNED})", "tokens", f"FLOPs ({PLANNED})"], rows)


def time(data: ReportData) -> Grid:
    """Seconds over all stages of each kind."""
    costs = data.costs
    kinds = [kind for kind in STAGE_KINDS if (costs["stage"] == kind).any()]
    rows = []
    for arm in data.arms:
        here = costs[costs["arm"] == arm].set_index("stage")
        rows.append([arm, *(_figure(here, kind, "seconds", "{:,.1f}") for kind in kinds)])
    return Grid(["arm", *kinds], rows if kinds else [])


def _figure(frame: pd.DataFrame, row: str, column: str, form: str) -> str:
    value = frame[column].astype(float).get(row, np.nan)
    return MISSING if np.isnan(value) else form.format(value)
