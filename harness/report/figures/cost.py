"""The figure of score against cost."""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.container import ErrorbarContainer
from matplotlib.ticker import EngFormatter

from harness.core.rounding import one_decimal
from harness.report.figures import style
from harness.report.pairwise import MANY_ARMS

COSTS = {
    "flops": "FLOPs of pretraining",
    "parameters": "parameters",
    "trained": "trained parameters",
}
"""Costs of arms, and their labels in tables and figures."""
PANEL = 2.6
"""Height of a panel, in inches."""
OTHERS = "not on a Pareto front"


def fronts(points: pd.DataFrame, on_front: Mapping[str, Sequence[bool]]) -> str:
    """Average by cost, one panel per cost; of many arms, those on no Pareto front are grey.

    Args:
        points: result of `harness.report.sections.cost.cost_points`.
        on_front: cost to whether each point is on its front.
    """
    shown = points.dropna(subset="average")
    arms = list(shown["arm"])
    grey = {
        arm
        for place, arm in enumerate(points["arm"])
        if len(arms) > MANY_ARMS and not any(found[place] for found in on_front.values())
    }
    named = [arm for arm in arms if arm not in grey]
    short = style.shortened(named)
    drawn: dict[str, Any] = {}
    with matplotlib.rc_context(style.STYLE):
        names = [*short.values(), *([OTHERS] if grey else [])]
        figure, grid = style.panels(len(on_front), PANEL, names)
        for axes, (cost, found) in zip(grid, on_front.items(), strict=True):
            _scale(axes, shown[cost].dropna())
            if grey:
                drawn[OTHERS] = _dots(axes, shown[shown["arm"].isin(grey)], cost, style.GREY, ".")
            for i, arm in enumerate(named):
                colour, marker, _ = style.arm_style(i)
                drawn[short[arm]] = _dots(axes, shown[shown["arm"] == arm], cost, colour, marker)
            line = points[list(found)].sort_values(cost)
            axes.plot(line[cost], line["average"], color=style.GREY, linewidth=0.8, zorder=0)
            axes.set_xlabel(COSTS[cost])
            axes.set_ylabel("average x 100")
            axes.grid(axis="y")
        style.legend_above(figure, drawn)
        return style.as_svg(figure, "costs")


def _scale(axes: Axes, costs: "pd.Series[float]") -> None:
    """Makes the x axis logarithmic, or symmetric-logarithmic if an arm costs nothing."""
    if (costs > 0).all():
        style.log_scale(axes, EngFormatter(sep=""))
    else:
        linear, text = float(costs[costs > 0].min()) / 2, EngFormatter(sep="")

        def apart(cost: float) -> str:
            """The text of a cost that does not stand too near to that of 0."""
            return "" if 0 < cost < linear / 3 else text(cost)

        axes.set_xscale("symlog", linthresh=linear, linscale=0.5)
        axes.xaxis.set_major_formatter(style.LogTicks(apart))


def _dots(
    axes: Axes, points: pd.DataFrame, cost: str, colour: str, marker: str
) -> ErrorbarContainer:
    spread = points["deviation"].fillna(0)
    line_style: dict[str, Any] = {"color": colour, "markersize": 5, "elinewidth": 0.8}
    dots = axes.errorbar(points[cost], points["average"], yerr=spread, fmt=marker, **line_style)
    averages = zip(points["arm"], points["average"], strict=True)
    texts = [f"{arm}: {one_decimal(average)}" for arm, average in averages]
    style.explain(dots.lines[0], ", ".join(texts))
    return dots
