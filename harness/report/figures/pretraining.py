"""Figures of the course of pretraining, by tokens, FLOPs or hours."""

from collections.abc import Callable, Sequence

import matplotlib
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import EngFormatter

from harness.report.figures.style import (
    STYLE,
    arm_style,
    as_svg,
    explain,
    legend_above,
    log_scale,
    panels,
    shortened,
)

COSTS = {
    "tokens": "pretraining tokens",
    "flops": "FLOPs of pretraining",
    "hours": "hours of pretraining",
}
HEIGHT = 2.8
"""Height of a panel, in inches."""
Draw = Callable[[Axes, pd.DataFrame, str, int, str], Line2D]
"""Draws the points of a run by cost (axes, points, cost, number and name of the run); returns the
line of their mean."""


def loss_curves(points: pd.DataFrame, costs: Sequence[str], name: str) -> str | None:
    """Training loss by each of `costs`: seeds as thin lines, their mean in bold; null if empty.

    Args:
        points: result of `harness.report.sections.pretraining.curve_points`.
        name: of the file, without the ending.
    """
    return _panels(points, costs, name, "training loss (nats)", _loss, logarithmic=False)


def learning_curves(points: pd.DataFrame, costs: Sequence[str], name: str) -> str | None:
    """Average by each of `costs` (logarithmic axis): seeds as dots, their mean as a line; null if
    empty.

    Args:
        points: result of `harness.report.sections.learning_curves.learning_points`, with `arm`
            renamed to `run`.
    """
    return _panels(points, costs, name, "average of the suite x 100", _learning, logarithmic=True)


def _panels(
    points: pd.DataFrame,
    costs: Sequence[str],
    name: str,
    value: str,
    draw: Draw,
    *,
    logarithmic: bool,
) -> str | None:
    if points.empty or not costs:
        return None
    with matplotlib.rc_context(STYLE):
        short, drawn = shortened(map(str, points["run"].unique())), {}
        figure, grid = panels(1, HEIGHT, short.values(), len(costs), sharey=True)
        for axes, cost in zip(grid, costs, strict=True):
            for i, (run, of_run) in enumerate(points.groupby("run", sort=False)):
                drawn[short[str(run)]] = draw(axes, of_run, cost, i, str(run))
            axes.set_xlabel(COSTS[cost])
            axes.grid(axis="y")
            text = "{:g}".format if cost == "hours" else EngFormatter(sep="")
            if logarithmic:
                log_scale(axes, text)
            elif cost != "hours":
                axes.xaxis.set_major_formatter(text)
        grid[0].set_ylabel(value)
        legend_above(figure, drawn)
        return as_svg(figure, name)


def _loss(axes: Axes, points: pd.DataFrame, cost: str, number: int, run: str) -> Line2D:
    colour, _, dash = arm_style(number)
    for _, seed in points.groupby("pretrain_seed"):
        (thin,) = axes.plot(seed[cost], seed["loss"], color=colour, linewidth=0.6, alpha=0.45)
        explain(thin, run)
    # Tokens and hours after the same update differ a little between seeds.
    mean = points.groupby("step")[[cost, "loss"]].mean()
    (line,) = axes.plot(mean[cost], mean["loss"], dash, color=colour, linewidth=1.8)
    explain(line, run)
    return line


def _learning(axes: Axes, points: pd.DataFrame, cost: str, number: int, run: str) -> Line2D:
    colour, marker, dash = arm_style(number)
    (dots,) = axes.plot(
        points[cost], points["average"], marker, color=colour, markersize=3, alpha=0.5
    )
    mean = points.groupby("pretrain_fraction")[[cost, "average"]].mean()
    (line,) = axes.plot(mean[cost], mean["average"], dash, color=colour, linewidth=1.6)
    for artist in (dots, line):
        explain(artist, run)
    return line
