"""Figures of pretraining by what it cost, as SVG: equal data gives equal bytes."""

from collections.abc import Callable, Sequence

import matplotlib
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import EngFormatter

from harness.report.figures.style import (
    COLOURS,
    DASHES,
    MARKERS,
    STYLE,
    WIDTH,
    as_svg,
    explain,
    legend_above,
    legend_height,
    log_scale,
    shortened,
)

COSTS = {
    "tokens": "tokens read in pretraining",
    "flops": "FLOPs of pretraining",
    "hours": "hours of pretraining",
}
HEIGHT = 2.8
"""Inches of a panel."""
Draw = Callable[[Axes, pd.DataFrame, str, int, str], Line2D]
"""Draws the points of a run over a cost: axes, points, cost, number and name of the run; gives the
line of their mean."""


def loss_curves(points: pd.DataFrame, costs: Sequence[str], name: str) -> str | None:
    """Training loss over each of `costs`: each seed thin, their mean bold; null without any.

    Args:
        points: as `harness.report.sections.pretraining.curve_points` gives.
        name: of the file, without its ending.
    """
    return _panels(points, costs, name, "training loss (nats)", _loss, logarithmic=False)


def learning_curves(points: pd.DataFrame, costs: Sequence[str], name: str) -> str | None:
    """Average over each of `costs`, on a logarithmic axis: seeds as dots, their mean as a line;
    null without any.

    Args:
        points: as `harness.report.sections.learning_curves.learning_points` gives, their `arm`
            called `run`.
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
        height = HEIGHT + legend_height(list(short.values()))
        figure = Figure(figsize=(WIDTH, height), layout="constrained")
        panels = figure.subplots(1, len(costs), sharey=True, squeeze=False)[0]
        for axes, cost in zip(panels, costs, strict=True):
            for i, (run, of_run) in enumerate(points.groupby("run", sort=False)):
                drawn[short[str(run)]] = draw(axes, of_run, cost, i, str(run))
            axes.set_xlabel(COSTS[cost])
            axes.grid(axis="y")
            text = "{:g}".format if cost == "hours" else EngFormatter(sep="")
            if logarithmic:
                log_scale(axes, text)
            elif cost != "hours":
                axes.xaxis.set_major_formatter(text)
        panels[0].set_ylabel(value)
        legend_above(figure, drawn)
        return as_svg(figure, name)


def _loss(axes: Axes, points: pd.DataFrame, cost: str, number: int, run: str) -> Line2D:
    colour, dash = COLOURS[number % len(COLOURS)], DASHES[number % len(DASHES)]
    for _, seed in points.groupby("pretrain_seed"):
        (thin,) = axes.plot(seed[cost], seed["loss"], color=colour, linewidth=0.6, alpha=0.45)
        explain(thin, run)
    # Tokens and hours differ a little between seeds after the same updates.
    mean = points.groupby("step")[[cost, "loss"]].mean()
    (line,) = axes.plot(mean[cost], mean["loss"], dash, color=colour, linewidth=1.8)
    explain(line, run)
    return line


def _learning(axes: Axes, points: pd.DataFrame, cost: str, number: int, run: str) -> Line2D:
    colour, dash = COLOURS[number % len(COLOURS)], DASHES[number % len(DASHES)]
    marker = MARKERS[number % len(MARKERS)]
    (dots,) = axes.plot(
        points[cost], points["average"], marker, color=colour, markersize=3, alpha=0.5
    )
    mean = points.groupby("pretrain_fraction")[[cost, "average"]].mean()
    (line,) = axes.plot(mean[cost], mean["average"], dash, color=colour, linewidth=1.6)
    for artist in (dots, line):
        explain(artist, run)
    return line
