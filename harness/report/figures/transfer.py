"""The figure of loss against score, as SVG: equal data gives equal bytes."""

from collections.abc import Sequence

import matplotlib
import pandas as pd
from matplotlib.figure import Figure

from harness.report.figures.style import (
    COLOURS,
    MARKERS,
    STYLE,
    WIDTH,
    as_svg,
    explain,
    legend_above,
    legend_height,
    shortened,
)

PANEL = 2.4
"""Inches of height of a panel."""


def loss_and_score(points: pd.DataFrame, arms: Sequence[str]) -> str:
    """A panel for each group: average by held-out loss, lower losses to the right.

    Args:
        points: as `harness.report.sections.transfer.transfer_points` gives.
        arms: in the order of their colours.
    """
    groups = list(points.groupby("group"))
    named = [arm for arm in arms if (points["arm"] == arm).any()]
    with matplotlib.rc_context(STYLE):
        short, drawn = shortened(named), {}
        size = (WIDTH, PANEL * len(groups) + legend_height(list(short.values())))
        figure = Figure(figsize=size, layout="constrained")
        panels = figure.subplots(len(groups), squeeze=False)[:, 0]
        for axes, (group, runs) in zip(panels, groups, strict=True):
            for i, arm in enumerate(named):
                own = runs[runs["arm"] == arm]
                colour, marker = COLOURS[i % len(COLOURS)], MARKERS[i % len(MARKERS)]
                x, y = own["loss"], own["average"]
                # An arm of another group is drawn as nothing.
                (dots,) = axes.plot(x, y, marker, color=colour, markersize=4, alpha=0.75)
                explain(dots, arm)
                drawn[short[arm]] = dots
            axes.invert_xaxis()
            axes.set_title(f"group {group}", fontsize=9)
            axes.set_xlabel("held-out loss (nats a predicted token)")
            axes.set_ylabel("average x 100")
            axes.grid(axis="y")
        legend_above(figure, drawn)
        return as_svg(figure, "transfer")
