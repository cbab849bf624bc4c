"""Score against cost: which arms are not beaten by one that costs no more."""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from harness.analysis.frames.adaptation import trained_parameters
from harness.analysis.frames.costs import costs_frame
from harness.analysis.results import Results
from harness.experiment.named_values import ROLES
from harness.leaderboard.cells import MISSING
from harness.leaderboard.table import Table
from harness.leaderboard.text_tables import TextTable
from harness.report.cost_labels import COSTS
from harness.report.layout import Plot, Section

FORMS = {"flops": "{:.2e}", "parameters": "{:,.0f}", "trained": "{:,.0f}"}
SAME = 0.005
"""Share of a cost below which another is the same."""
NOTE = (
    "An arm is on the front of a cost if no other scores at least as much for less, or more for no "
    "more (Pareto). Averages are taken as they stand: arms that share a rank are not told apart. "
    "FLOPs are those of one pretraining seed, with all runs that it builds on or that go on from "
    "it; they and parameters are planned, by the declared vocabulary, of which less may be "
    f"learned. Costs of less than {100 * SAME:g} % difference are the same; those that all arms "
    "share are left out."
)
CAPTION = (
    "Average over the suite by cost, with the standard deviation over pretraining seeds; the line "
    "joins the front."
)


def front(costs: Sequence[float], scores: Sequence[float]) -> list[bool]:
    """Whether each point is on the Pareto front: no other costs no more and scores no less, one of
    them strictly. A point with a NaN is not, and beats none."""
    points = list(zip(costs, scores, strict=True))
    return [
        bool(np.isfinite(cost) and np.isfinite(score))
        and not any(c <= cost and s >= score and (c < cost or s > score) for c, s in points)
        for cost, score in points
    ]


def cost_points(results: Results, table: Table) -> pd.DataFrame:
    """Columns arm, average, deviation, and those of `COSTS`; NaN where one is not known."""
    rows = {row.name: row.average for row in table.rows}
    costs = results.get(costs_frame)[results.get(costs_frame)["stage"] == "pretrain"].set_index(
        "arm"
    )
    records = []
    for arm in results.arms:
        average = rows.get(arm)
        names = [arm, *(f"{part} of {arm}" for part in (*ROLES, "continued runs"))]
        flops = costs["flops"][[name for name in names if name in costs.index]].astype(float)
        records.append(
            (
                arm,
                average.mean if average else np.nan,
                average.sd if average and average.sd is not None else np.nan,
                flops.sum(skipna=False) if len(flops) else np.nan,
                costs["parameters"].astype(float).get(arm, np.nan),
                results.get(trained_parameters).get(arm, np.nan),
            )
        )
    return pd.DataFrame(records, columns=["arm", "average", "deviation", *COSTS])


def leveled(costs: Iterable[float]) -> list[float]:
    """Costs, those of less difference than SAME to the cheapest of them made equal: a budget is met
    to the next update, and families differ by a few vectors."""
    given = list(costs)
    levels: list[float] = []
    for cost in sorted(cost for cost in given if np.isfinite(cost)):
        if not levels or cost > levels[-1] * (1 + SAME):
            levels.append(cost)
    return [max((x for x in levels if x <= cost), default=cost) for cost in given]


def differing(points: pd.DataFrame) -> list[str]:
    """The costs that arms with an average do not share."""
    scored = points.dropna(subset="average")
    return [name for name in COSTS if len(set(leveled(scored[name].dropna()))) > 1]


def costing(results: Results, table: Table) -> Section | None:
    """The section; null where all arms cost the same."""
    from harness.report.figures.cost import fronts

    points = cost_points(results, table)
    costs = differing(points)
    if not costs:
        return None
    averages = points["average"].tolist()
    on_front = {name: front(leveled(points[name]), averages) for name in costs}
    plots = {"costs": Plot(fronts(points, on_front), CAPTION)}
    return Section("Score against cost", [NOTE], plots, {"": _grid(points, on_front)})


def _grid(points: pd.DataFrame, on_front: dict[str, list[bool]]) -> TextTable:
    rows = []
    for place, point in enumerate(points.to_dict("records")):
        cells = [_cell(point["average"], "{:.1f}")]
        cells += [_cell(point[name], FORMS[name]) for name in on_front]
        fronts = [COSTS[name] for name, found in on_front.items() if found[place]]
        rows.append([str(point["arm"]), *cells, ", ".join(fronts) or MISSING])
    head = ["arm", "average", *(COSTS[name] for name in on_front), "on the front of"]
    return TextTable(head, rows, text_columns=(0, len(head) - 1))


def _cell(value: float, form: str) -> str:
    return form.format(value) if np.isfinite(value) else MISSING
