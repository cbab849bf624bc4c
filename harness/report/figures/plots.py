"""The figures of a report, as SVG: equal data gives equal bytes."""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from harness.analysis.statistics.bootstrap import Difference
from harness.leaderboard.table import Table
from harness.report.difference_tables import interval, points
from harness.report.figures.style import (
    COLOURS,
    DASHES,
    GREY,
    MARKERS,
    STYLE,
    as_svg,
    canvas,
    explain,
    legend_above,
    row_canvas,
    shortened,
)
from harness.report.verdict import Pair

HEIGHT = 2.8
"""Inches of a panel of curves."""
MAX_ROWS = 40
"""Rows of a forest plot, at most, unless there are more pairs than that."""


def search_curves(curves: pd.DataFrame, arms: Sequence[str]) -> str | None:
    """Expected best by trials, with a band of one standard deviation; null without any."""
    if curves.empty:
        return None
    with matplotlib.rc_context(STYLE):
        short, drawn = shortened(arms), {}
        figure, axes = canvas(HEIGHT, list(short.values()))
        for i, arm in enumerate(arms):
            curve = curves[curves["arm"] == arm]
            colour, dash = COLOURS[i % len(COLOURS)], DASHES[i % len(DASHES)]
            low, high = (curve["mean"] + sign * curve["deviation"] for sign in (-1, 1))
            axes.fill_between(curve["trials"], low, high, color=colour, alpha=0.15, linewidth=0)
            (line,) = axes.plot(curve["trials"], curve["mean"], dash, color=colour, linewidth=1.8)
            explain(line, arm)
            drawn[short[arm]] = line
        axes.set_xlabel("random trials")
        axes.set_ylabel("expected best on the hold-out x 100")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.grid(axis="y")
        legend_above(figure, drawn)
        return as_svg(figure, "search")


def forest(pairs: Sequence[Pair], table: Table) -> str | None:
    """Differences with their intervals, the average of each pair bold; null without any."""
    rows = _forest_rows(pairs, table)
    if not rows:
        return None
    names, differences, bold = zip(*rows, strict=True)
    with matplotlib.rc_context(STYLE):
        figure, axes, places = row_canvas(names, bold, row=0.2, size=9)
        for place, name, difference, heavy in zip(places, names, differences, bold, strict=True):
            if difference:
                text = " ".join(name.split()) + f": {points(difference.estimate)}"
                _interval(axes, place, difference, heavy, f"{text} ({interval(difference)})")
        axes.axvline(0, color="black", linewidth=0.8)
        # Of the figure: under a panel that long names make narrow it would be cut off.
        figure.supxlabel("difference in points, with 95 % interval", fontsize=9)
        return as_svg(figure, "forest")


def seed_spread(scores: Mapping[str, Mapping[str, np.ndarray]], arms: Sequence[str]) -> str | None:
    """Every run's score as a dot: the name of each column, and below it a row for each arm.

    Args:
        scores: column to arm to the scores of its runs.
        arms: in the order of their rows.
    """
    if not any(len(runs) for by_arm in scores.values() for runs in by_arm.values()):
        return None
    short = shortened(arms)
    names = [name for column in scores for name in (column, *short.values())]
    bold = [place % (len(arms) + 1) == 0 for place in range(len(names))]
    with matplotlib.rc_context(STYLE):
        figure, axes, places = row_canvas(names, bold, row=0.165, size=8)
        for j, (column, by_arm) in enumerate(scores.items()):
            for i, arm in enumerate(arms):
                place = places[j * (len(arms) + 1) + i + 1]
                marker, colour = MARKERS[i % len(MARKERS)], COLOURS[i % len(COLOURS)]
                heights = [place] * len(by_arm[arm])
                (dots,) = axes.plot(
                    by_arm[arm], heights, marker, color=colour, markersize=4, alpha=0.75
                )
                scores_text = " ".join(f"{score:.1f}" for score in by_arm[arm])
                explain(dots, f"{column}, {arm}: {scores_text}")
        axes.set_xlabel("score x 100")
        return as_svg(figure, "seeds")


Named = tuple[str, Difference | None, bool]
"""Name of a row of the forest plot, what is drawn in it, and whether it is bold."""


def _forest_rows(pairs: Sequence[Pair], table: Table) -> list[Named]:
    """Every column of all pairs, or of the expected ones, as far as there is room; else the
    averages. Pairs without any difference are left out."""
    short = shortened(arm for pair in pairs for arm in (pair.first, pair.second))
    every, expected, averages = (
        [row for pair in pairs for row in _rows_of(pair, short, table, whole(pair))]
        for whole in (lambda _: True, lambda pair: pair.expected, lambda _: False)
    )
    return next((rows for rows in (every, expected) if len(rows) <= MAX_ROWS), averages)


def _rows_of(pair: Pair, short: Mapping[str, str], table: Table, whole: bool) -> list[Named]:
    """The average, then the columns if `whole`; none if no difference is known."""
    first, second = short[pair.first], short[pair.second]
    between = "\n− " if len(first) + len(second) > 26 else " − "
    names = [column.name for column in table.columns] if whole else []
    rows: list[Named] = [
        (f"{first}{between}{second}", pair.average, True),
        *((name, pair.differences[name], False) for name in names if pair.differences[name]),
    ]
    return rows if any(found for _, found, _ in rows) else []


def _interval(axes: Axes, y: float, difference: Difference, bold: bool, text: str) -> None:
    """One line with a mark in it, so that a pointer finds both."""
    look: dict[str, Any] = {"marker": "D", "markersize": 5, "linewidth": 2.2, "color": COLOURS[0]}
    if not bold:
        look = {"marker": "o", "markersize": 3.5, "linewidth": 1.2, "color": GREY}
    places = [difference.low, difference.estimate, difference.high]
    (line,) = axes.plot(places, [y] * 3, markevery=[1], **look)
    explain(line, text)
