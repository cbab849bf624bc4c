"""Figures of adapting, as SVG: equal data gives equal bytes."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

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
    shortened,
)

SLANTED: dict[str, Any] = {"rotation": 30, "ha": "right", "rotation_mode": "anchor"}
COLUMNS = 2
"""Panels side by side."""
PANEL = 2.0
"""Inches of height of a panel."""
CELL = 0.34
"""Inches of height of a row of a heat map."""
CELLS = "cividis"
"""Told apart with every common kind of colour blindness (Nuñez et al. 2018)."""


def count_curves(points: pd.DataFrame) -> str | None:
    """Score by number of labels, a panel for each column, the average first: the mean over
    pretraining seeds, from the lowest to the highest of them; null without any point."""
    columns = list(points["column"].unique())
    if not columns:
        return None
    arms = list(points["arm"].unique())
    with matplotlib.rc_context(STYLE):
        short, drawn = shortened(arms), {}
        figure, panels = _panels(len(columns), list(short.values()))
        for axes, column in zip(panels, sorted(columns, key=lambda c: c != "average"), strict=True):
            for i, arm in enumerate(arms):
                runs = points[(points["arm"] == arm) & (points["column"] == column)]
                seeds = runs.groupby("labels")["score"].agg(["mean", "min", "max"])
                spread = [seeds["mean"] - seeds["min"], seeds["max"] - seeds["mean"]]
                lines = axes.errorbar(seeds.index, seeds["mean"], yerr=spread, **_look(i))
                explain(lines.lines[0], arm)
                drawn[short[arm]] = lines
            axes.set_xscale("log")
            counts = sorted(points["labels"].unique())
            axes.set_xticks(counts, [f"{count:,}" for count in counts])
            axes.minorticks_off()
            axes.set_title(column, fontsize=9)
            axes.grid(axis="y")
        figure.supxlabel("labelled examples", fontsize=9)
        figure.supylabel("score x 100", fontsize=9)
        legend_above(figure, drawn)
        return as_svg(figure, "label_counts")


def layer_lines(means: Mapping[str, pd.DataFrame]) -> str | None:
    """A panel for each title: values of arms (rows) by layer (columns); null without any."""
    if not means:
        return None
    short = shortened(str(arm) for frame in means.values() for arm in frame.index)
    with matplotlib.rc_context(STYLE):
        figure, panels = _panels(len(means), list(short.values()))
        drawn = {}
        for axes, (title, frame) in zip(panels, means.items(), strict=True):
            for i, (arm, values) in enumerate(frame.iterrows()):
                (line,) = axes.plot(range(len(values)), values.to_numpy(float), **_look(i))
                explain(line, str(arm))
                drawn[short[str(arm)]] = line
            names = [str(name).removeprefix("layer ") for name in frame.columns]
            axes.set_xticks(range(len(names)), names, rotation=30 if len(names) > 4 else 0)
            axes.set_title(title, fontsize=9)
            axes.grid(axis="y")
        figure.supxlabel("layer, from bottom to top", fontsize=9)
        legend_above(figure, drawn)
        return as_svg(figure, "layers")


def forgetting_maps(scores: Mapping[str, pd.DataFrame]) -> str | None:
    """A heat map for each arm, with its numbers: tasks (rows) after each step (columns); null
    without any."""
    if not scores:
        return None
    all_scores = np.concatenate([frame.to_numpy(float).ravel() for frame in scores.values()])
    low, high = np.nanmin(all_scores), np.nanmax(all_scores)
    short = shortened(scores)
    with matplotlib.rc_context(STYLE):
        rows = sum(len(frame) for frame in scores.values())
        figure = Figure(figsize=(WIDTH, CELL * rows + len(scores)), layout="constrained")
        panels = figure.subplots(len(scores), squeeze=False)[:, 0]
        for axes, (arm, frame) in zip(panels, scores.items(), strict=True):
            values = frame.to_numpy(float)
            axes.pcolormesh(np.ma.masked_invalid(values), cmap=CELLS, vmin=low, vmax=high)
            for (row, column), value in np.ndenumerate(values):
                if np.isfinite(value):
                    colour = "black" if value > (low + high) / 2 else "white"
                    place = (column + 0.5, row + 0.5)
                    axes.annotate(f"{value:.0f}", place, color=colour, ha="center", va="center")
            axes.set_yticks(np.arange(len(frame)) + 0.5, frame.index)
            axes.set_xticks(np.arange(len(frame.columns)) + 0.5, frame.columns, **SLANTED)
            axes.invert_yaxis()
            axes.set_title(short[arm], fontsize=9)
        return as_svg(figure, "forgetting")


def _panels(count: int, names: Sequence[str]) -> tuple[Figure, list[Axes]]:
    """Panels under room for a legend of `names`."""
    columns = min(COLUMNS, count)
    rows = math.ceil(count / columns)
    figure = Figure(figsize=(WIDTH, PANEL * rows + legend_height(names)), layout="constrained")
    panels = list(figure.subplots(rows, columns, squeeze=False).ravel())
    for spare in panels[count:]:
        spare.set_visible(False)
    return figure, panels[:count]


def _look(number: int) -> dict[str, Any]:
    """Colour, marker and dashes of an arm; together they tell 28 arms apart."""
    return {
        "color": COLOURS[number % len(COLOURS)],
        "marker": MARKERS[number % len(MARKERS)],
        "linestyle": DASHES[number % len(DASHES)],
        "markersize": 3.5,
        "linewidth": 1.3,
    }
