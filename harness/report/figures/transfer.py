"""The figure of pretraining loss against scores."""

from collections.abc import Sequence

import matplotlib
import pandas as pd

from harness.report.figures.style import (
    STYLE,
    arm_style,
    as_svg,
    explain,
    legend_above,
    panels,
    shortened,
)

PANEL = 2.4
"""Height of a panel, in inches."""


def loss_and_score(points: pd.DataFrame, arms: Sequence[str]) -> str:
    """Average by held-out loss, one panel per group; the loss decreases to the right.

    Args:
        points: result of `harness.report.sections.transfer.transfer_points`.
        arms: in the order of their colours.
    """
    groups = list(points.groupby("group"))
    named = [arm for arm in arms if (points["arm"] == arm).any()]
    with matplotlib.rc_context(STYLE):
        short, drawn = shortened(named), {}
        figure, grid = panels(len(groups), PANEL, short.values())
        for axes, (group, runs) in zip(grid, groups, strict=True):
            for i, arm in enumerate(named):
                own = runs[runs["arm"] == arm]
                colour, marker, _ = arm_style(i)
                x, y = own["loss"], own["average"]
                # Arms of other groups have no points here.
                (dots,) = axes.plot(x, y, marker, color=colour, markersize=4, alpha=0.75)
                explain(dots, arm)
                drawn[short[arm]] = dots
            axes.invert_xaxis()
            axes.set_title(f"group {group}", fontsize=9)
            axes.set_xlabel("held-out loss (nats per predicted token)")
            axes.set_ylabel("average x 100")
            axes.grid(axis="y")
        legend_above(figure, drawn)
        return as_svg(figure, "transfer")
