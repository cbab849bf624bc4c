"""The figures of a report, as SVG: equal data gives equal bytes."""

import io
import re
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, MaxNLocator

from harness.leaderboard.tables import Table
from harness.report.verdict import Pair
from harness.statistics import Difference

# Okabe and Ito 2008: told apart with every common kind of colour blindness; markers and dashes tell
# arms apart in print without colour.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
DASHES = ("-", "--", "-.", ":")
GREY = "#6b6b6b"
WIDTH = 5.2
"""Inches: on a phone the letters are still 8 pixels high."""
ROW = 0.21
"""Inches of height for a row of points."""
MANY_PAIRS = 6
"""With more pairs than this, only expected ones are drawn column by column."""
STYLE: dict[Any, Any] = {
    "svg.hashsalt": "report",
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": GREY,
    "axes.axisbelow": True,
    "grid.color": "#e3e3e3",
    "legend.frameon": False,
}


def loss_curves(curves: pd.DataFrame, arms: Sequence[str]) -> str | None:
    """Training loss by tokens: each seed thin, their mean bold; null without any curve."""
    drawn = {i: curves[curves["arm"] == arm] for i, arm in enumerate(arms)}
    drawn = {i: curve for i, curve in drawn.items() if len(curve)}
    if not drawn:
        return None
    with matplotlib.rc_context(STYLE):
        figure, axes = _canvas(3.4)
        for i, curve in drawn.items():
            colour = COLOURS[i % len(COLOURS)]
            for _, seed in curve.groupby("pretrain_seed"):
                axes.plot(seed["tokens"], seed["loss"], color=colour, linewidth=0.6, alpha=0.45)
            mean = curve.groupby("tokens")["loss"].mean()
            dash = DASHES[i % len(DASHES)]
            axes.plot(mean.index, mean, dash, color=colour, linewidth=1.8, label=arms[i])
        axes.set_xlabel("tokens read in pretraining")
        axes.set_ylabel("training loss (nats)")
        axes.xaxis.set_major_formatter(EngFormatter(sep=""))
        axes.grid(axis="y")
        axes.legend()
        return as_svg(figure, "loss")


def learning_curves(points: pd.DataFrame) -> str | None:
    """Average by tokens read, on a logarithmic axis: seeds as dots, their mean as a line; null
    without any point."""
    if points.empty:
        return None
    with matplotlib.rc_context(STYLE):
        figure, axes = _canvas(3.4)
        for i, (arm, runs) in enumerate(points.groupby("arm", sort=False)):
            colour, marker = COLOURS[i % len(COLOURS)], MARKERS[i % len(MARKERS)]
            tokens, scores = runs["tokens"], runs["average"]
            axes.plot(tokens, scores, marker, color=colour, markersize=3, alpha=0.5)
            mean = runs.groupby("tokens")["average"].mean()
            dash = DASHES[i % len(DASHES)]
            axes.plot(mean.index, mean, dash, color=colour, linewidth=1.6, label=str(arm))
        axes.set_xscale("log")
        axes.set_xlabel("tokens read in pretraining")
        axes.set_ylabel("average of the suite x 100")
        axes.xaxis.set_major_formatter(EngFormatter(sep=""))
        axes.grid(axis="y")
        axes.legend()
        return as_svg(figure, "learning")


def search_curves(curves: pd.DataFrame, arms: Sequence[str]) -> str | None:
    """Expected best by trials, with a band of one standard deviation; null without any."""
    if curves.empty:
        return None
    with matplotlib.rc_context(STYLE):
        figure, axes = _canvas(3.4)
        for i, arm in enumerate(arms):
            curve = curves[curves["arm"] == arm]
            colour, dash = COLOURS[i % len(COLOURS)], DASHES[i % len(DASHES)]
            low, high = (curve["mean"] + sign * curve["deviation"] for sign in (-1, 1))
            axes.fill_between(curve["trials"], low, high, color=colour, alpha=0.15, linewidth=0)
            axes.plot(curve["trials"], curve["mean"], dash, color=colour, linewidth=1.8, label=arm)
        axes.set_xlabel("random trials")
        axes.set_ylabel("expected best on the hold-out x 100")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.grid(axis="y")
        axes.legend()
        return as_svg(figure, "search")


def forest(pairs: Sequence[Pair], table: Table) -> str | None:
    """Differences with their intervals, the average of each pair bold; null without any."""
    rows = _forest_rows(pairs, table)
    if not any(difference for _, difference, _ in rows):
        return None
    with matplotlib.rc_context(STYLE):
        figure, axes = _canvas(0.9 + ROW * len(rows))
        for y, (_, difference, bold) in enumerate(rows):
            if difference:
                _interval(axes, y, difference, bold)
        axes.axvline(0, color="black", linewidth=0.8)
        _name_rows(axes, [label for label, _, _ in rows])
        for tick, (_, _, bold) in zip(axes.get_yticklabels(), rows, strict=True):
            tick.set_fontweight("bold" if bold else "normal")
        axes.set_xlabel("difference in points, with 95 % interval")
        return as_svg(figure, "forest")


def seed_spread(scores: Mapping[str, Mapping[str, np.ndarray]], arms: Sequence[str]) -> str | None:
    """Every run's score as a dot, a row for each arm within each column.

    Args:
        scores: column to arm to the scores of its runs.
        arms: in the order of their rows.
    """
    if not any(len(runs) for by_arm in scores.values() for runs in by_arm.values()):
        return None
    step = len(arms) + 1
    with matplotlib.rc_context(STYLE):
        figure, axes = _canvas(1.1 + 0.13 * step * len(scores))
        for i, arm in enumerate(arms):
            dots = [(run, j * step + i) for j, s in enumerate(scores.values()) for run in s[arm]]
            x, y = zip(*dots, strict=True) if dots else ((), ())
            marker, colour = MARKERS[i % len(MARKERS)], COLOURS[i % len(COLOURS)]
            axes.plot(x, y, marker, color=colour, markersize=4, alpha=0.75, label=arm)
        axes.set_xlabel("score x 100")
        _name_rows(axes, list(scores), [j * step + (step - 2) / 2 for j in range(len(scores))])
        axes.set_ylim(step * len(scores) - 1, -1)
        figure.legend(loc="outside upper left", ncols=min(4, len(arms)))
        return as_svg(figure, "seeds")


def _forest_rows(pairs: Sequence[Pair], table: Table) -> list[tuple[str, Difference | None, bool]]:
    rows: list[tuple[str, Difference | None, bool]] = []
    for pair in pairs:
        rows.append((f"{pair.first} − {pair.second}", pair.average, True))
        if len(pairs) <= MANY_PAIRS or pair.expected:
            rows += [(c.name, pair.differences[c.name], False) for c in table.columns]
    return rows


def _interval(axes: Axes, y: float, difference: Difference, bold: bool) -> None:
    colour = COLOURS[0] if bold else GREY
    ends = [difference.low, difference.high]
    axes.plot(ends, [y, y], color=colour, linewidth=2.2 if bold else 1.2)
    size = 5 if bold else 3.5
    axes.plot([difference.estimate], [y], "D" if bold else "o", color=colour, markersize=size)


def _name_rows(axes: Axes, names: Sequence[str], at: Sequence[float] | None = None) -> None:
    axes.set_yticks(range(len(names)) if at is None else at, names)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.grid(axis="x")


def _canvas(height: float) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    return figure, figure.subplots()


def as_svg(figure: Figure, name: str) -> str:
    """The figure as an `svg` element that fits its place, its ids apart from other figures'."""
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    svg = text.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{name}-", svg)
    return "\n".join(line.rstrip() for line in svg.splitlines()) + "\n"
