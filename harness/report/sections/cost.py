"""Score against cost: which arms are on the Pareto front."""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from harness.analysis.frames.adaptation import trained_parameters
from harness.analysis.frames.costs import pretraining_flops, scored_parameters
from harness.analysis.results import Results
from harness.leaderboard.build import experiment_table
from harness.leaderboard.cells import MISSING, number_cell
from harness.leaderboard.text_tables import TextTable
from harness.report.figures.cost import COSTS, fronts
from harness.report.layout import Plot, Section

FORMATS = {"flops": "{:.2e}", "parameters": "{:,.0f}", "trained": "{:,.0f}"}
TOLERANCE = 0.005
"""Relative difference up to which two costs count as equal."""
NOTE = (
    "An arm is on the Pareto front of a cost if no other arm has at least its score at a lower "
    "cost, or a higher score at no more cost. Averages are compared as measured, without a "
    "significance test. FLOPs are those of one pretraining seed, including the runs that it builds "
    "on and continued pretraining. FLOPs and parameters are counted with the learned vocabulary "
    f"where it is known. Costs within {100 * TOLERANCE:g} % of each other count as equal; costs "
    "that are equal for all arms are omitted."
)
CAPTION = (
    "Average over the suite by cost, with the standard deviation over pretraining seeds; the line "
    "connects the arms on the Pareto front."
)


def front(costs: Sequence[float], scores: Sequence[float]) -> list[bool]:
    """Whether each point is on the Pareto front: no other point has no higher cost and no lower
    score, one of them strictly better. Points with a NaN are not on it and dominate none."""
    points = list(zip(costs, scores, strict=True))
    return [
        bool(np.isfinite(cost) and np.isfinite(score))
        and not any(c <= cost and s >= score and (c < cost or s > score) for c, s in points)
        for cost, score in points
    ]


def cost_points(results: Results) -> pd.DataFrame:
    """Columns arm, average, deviation, and those of `COSTS`; NaN if unknown."""
    averages = {row.name: row.average for row in results.get(experiment_table).rows}
    parameters, flops, records = scored_parameters(results), pretraining_flops(results), []
    for arm in results.arms:
        average = averages.get(arm)
        records.append(
            (
                arm,
                average.mean if average else np.nan,
                average.sd if average and average.sd is not None else np.nan,
                flops.get(arm, np.nan),
                parameters.get(arm, np.nan),
                results.get(trained_parameters).get(arm, np.nan),
            )
        )
    return pd.DataFrame(records, columns=["arm", "average", "deviation", *COSTS])


def leveled(costs: Iterable[float]) -> list[float]:
    """The costs, with those within TOLERANCE of a cheaper one set equal to it: a budget is rounded
    up to the next update, and model families differ by a few vectors."""
    given = list(costs)
    levels: list[float] = []
    for cost in sorted(cost for cost in given if np.isfinite(cost)):
        if not levels or cost > levels[-1] * (1 + TOLERANCE):
            levels.append(cost)
    return [max((x for x in levels if x <= cost), default=cost) for cost in given]


def differing(points: pd.DataFrame) -> list[str]:
    """Names of the costs in which the arms with an average differ."""
    scored = points.dropna(subset="average")
    return [name for name in COSTS if len(set(leveled(scored[name].dropna()))) > 1]


def cost_section(results: Results) -> Section | None:
    """Averages by cost and the Pareto fronts; null if all arms cost the same."""
    points = cost_points(results)
    costs = differing(points)
    if not costs:
        return None
    averages = points["average"].tolist()
    on_front = {name: front(leveled(points[name]), averages) for name in costs}
    plots = {"costs": Plot(fronts(points, on_front), CAPTION)}
    return Section("Score against cost", [NOTE], plots, {"": _table(points, on_front)})


def _table(points: pd.DataFrame, on_front: dict[str, list[bool]]) -> TextTable:
    rows = []
    for place, point in enumerate(points.to_dict("records")):
        cells = [number_cell(point["average"], "{:.1f}")]
        cells += [number_cell(point[name], FORMATS[name]) for name in on_front]
        names = [COSTS[name] for name, found in on_front.items() if found[place]]
        rows.append([str(point["arm"]), *cells, ", ".join(names) or MISSING])
    head = ["arm", "average", *(COSTS[name] for name in on_front), "on the Pareto front of"]
    return TextTable(head, rows, text_columns=(0, len(head) - 1))
