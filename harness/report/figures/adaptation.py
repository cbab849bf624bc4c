"""Figures of adaptation."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from harness.report.figures import style

SLANTED: dict[str, Any] = {"rotation": 30, "ha": "right", "rotation_mode": "anchor"}
COLUMNS = 2
"""Maximum number of panels side by side."""
PANEL = 2.0
"""Height of a panel, in inches."""
CELL = 0.34
"""Height of a row of a heat map, in inches."""
CELLS = "cividis"
"""Readable with all common kinds of colour blindness (Nuñez et al. 2018)."""


def count_curves(points: pd.DataFrame) -> str | None:
    """Score by number of labels, one panel per column, the average first: mean over pretraining
    seeds with bars from the lowest to the highest; null without points.

    Args:
        points: result of `harness.report.sections.adaptation_tables.count_points`.
    """
    columns = list(points["column"].unique())
    if not columns:
        return None
    arms = list(points["arm"].unique())
    with matplotlib.rc_context(style.STYLE):
        short, drawn = style.shortened(arms), {}
        figure, grid = _panels(len(columns), short.values())
        for axes, column in zip(grid, sorted(columns, key=lambda c: c != "average"), strict=True):
            for i, arm in enumerate(arms):
                runs = points[(points["arm"] == arm) & (points["column"] == column)]
                seeds = runs.groupby("labels")["score"].agg(["mean", "min", "max"])
                spread = [seeds["mean"] - seeds["min"], seeds["max"] - seeds["mean"]]
                lines = axes.errorbar(seeds.index, seeds["mean"], yerr=spread, **_line(i))
                style.explain(lines.lines[0], arm)
                drawn[short[arm]] = lines
            axes.set_xscale("log")
            counts = sorted(points["labels"].unique())
            axes.set_xticks(counts, [f"{count:,}" for count in counts])
            axes.minorticks_off()
            axes.set_title(column, fontsize=9)
            axes.grid(axis="y")
        figure.supxlabel("labelled examples", fontsize=9)
        figure.supylabel("score x 100", fontsize=9)
        style.legend_above(figure, drawn)
        return style.as_svg(figure, "label_counts")


def layer_lines(means: Mapping[str, pd.DataFrame]) -> str | None:
    """Values by layer, one panel per title and one line per arm; null without titles.

    Args:
        means: title to values of arms (rows) by layer (columns).
    """
    if not means:
        return None
    short = style.shortened(str(arm) for frame in means.values() for arm in frame.index)
    with matplotlib.rc_context(style.STYLE):
        figure, grid = _panels(len(means), short.values())
        drawn = {}
        for axes, (title, frame) in zip(grid, means.items(), strict=True):
            for i, (arm, values) in enumerate(frame.iterrows()):
                (line,) = axes.plot(range(len(values)), values.to_numpy(float), **_line(i))
                style.explain(line, str(arm))
                drawn[short[str(arm)]] = line
            names = [str(name).removeprefix("layer ") for name in frame.columns]
            axes.set_xticks(range(len(names)), names, rotation=30 if len(names) > 4 else 0)
            axes.set_title(title, fontsize=9)
            axes.grid(axis="y")
        figure.supxlabel("layer, from bottom to top", fontsize=9)
        style.legend_above(figure, drawn)
        return style.as_svg(figure, "layers")


def forgetting_maps(scores: Mapping[str, pd.DataFrame]) -> str | None:
    """One heat map per arm: tasks (rows) after each step (columns); null without arms.

    Args:
        scores: result of `harness.analysis.frames.forgetting.forgetting_scores`.
    """
    if not scores:
        return None
    all_scores = np.concatenate([frame.to_numpy(float).ravel() for frame in scores.values()])
    low, high = np.nanmin(all_scores), np.nanmax(all_scores)
    short = style.shortened(scores)
    with matplotlib.rc_context(style.STYLE):
        rows = sum(len(frame) for frame in scores.values())
        figure, grid = style.panels(len(scores), (CELL * rows + len(scores)) / len(scores))
        for axes, (arm, frame) in zip(grid, scores.items(), strict=True):
            values = frame.to_numpy(float)
            axes.pcolormesh(np.ma.masked_invalid(values), cmap=CELLS, vmin=low, vmax=high)
            for (row, column), value in np.ndenumerate(values):
                if np.isfinite(value):
                    colour = "black" if value > (low + high) / 2 else "white"
                    place = (column + 0.5, row + 0.5)
                    text = f"{value:z.0f}".replace("-", "−")
                    axes.annotate(text, place, color=colour, ha="center", va="center")
            axes.set_yticks(np.arange(len(frame)) + 0.5, frame.index)
            axes.set_xticks(np.arange(len(frame.columns)) + 0.5, frame.columns, **SLANTED)
            axes.invert_yaxis()
            axes.set_title(short[arm], fontsize=9)
        return style.as_svg(figure, "forgetting")


def _panels(count: int, names: Iterable[str]) -> tuple[Figure, list[Axes]]:
    """`count` panels, at most COLUMNS side by side, below a legend of `names`."""
    columns = min(COLUMNS, count)
    figure, grid = style.panels(math.ceil(count / columns), PANEL, names, columns)
    for spare in grid[count:]:
        spare.set_visible(False)
    return figure, grid[:count]


def _line(number: int) -> dict[str, Any]:
    """Style of the line of an arm."""
    colour, marker, dash = style.arm_style(number)
    shape = {"marker": marker, "markersize": 3.5, "linestyle": dash, "linewidth": 1.3}
    return {"color": colour, **shape}
