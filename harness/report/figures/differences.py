"""Figures of differences, of the scores of all runs, and of hyperparameter search."""

from collections.abc import Mapping, Sequence

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from harness.analysis.statistics.bootstrap import Difference
from harness.core.rounding import one_decimal
from harness.leaderboard.table import Table
from harness.report.difference_tables import interval, points
from harness.report.figures import style
from harness.report.verdict import Pair

HEIGHT = 2.8
"""Height of a panel of curves, in inches."""
MAX_ROWS = 40
"""Maximum number of rows of a forest plot, unless there are more pairs."""
LEAST_RANGE = 1.0
"""Points of the axis of scores: labels of a narrower one have so many digits that they overlap."""


def search_curves(curves: pd.DataFrame, arms: Sequence[str]) -> str | None:
    """Expected best by number of trials, with a band of one standard deviation; null if empty.

    Args:
        curves: result of `harness.report.sections.search.search_curves`.
    """
    if curves.empty:
        return None
    with matplotlib.rc_context(style.STYLE):
        short, drawn = style.shortened(arms), {}
        figure, (axes,) = style.panels(1, HEIGHT, short.values())
        for i, arm in enumerate(arms):
            curve = curves[curves["arm"] == arm]
            colour, _, dash = style.arm_style(i)
            low, high = (curve["mean"] + sign * curve["deviation"] for sign in (-1, 1))
            axes.fill_between(curve["trials"], low, high, color=colour, alpha=0.15, linewidth=0)
            (line,) = axes.plot(curve["trials"], curve["mean"], dash, color=colour, linewidth=1.8)
            style.explain(line, arm)
            drawn[short[arm]] = line
        axes.set_xlabel("random trials")
        axes.set_ylabel("expected best on the hold-out x 100")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.grid(axis="y")
        style.legend_above(figure, drawn)
        return style.as_svg(figure, "search")


def forest(pairs: Sequence[Pair], table: Table) -> str | None:
    """Forest plot: differences with their intervals, averages in bold; null without differences."""
    return _forest(_forest_rows(pairs, table), "forest")


def averages(pairs: Sequence[Pair]) -> str | None:
    """Forest plot of the averages alone: of the expected pairs, or of all pairs if none is
    expected; null without differences."""
    shown = [pair for pair in pairs if pair.expected] or pairs
    short = style.shortened(arm for pair in shown for arm in (pair.first, pair.second))
    return _forest([row for pair in shown for row in _rows_of(pair, short)], "averages")


def _forest(rows: Sequence["Named"], name: str) -> str | None:
    if not rows:
        return None
    names, differences, bold = zip(*rows, strict=True)
    with matplotlib.rc_context(style.STYLE):
        figure, axes, places = style.row_canvas(names, bold, row=0.2, size=9)
        for place, row, difference, heavy in zip(places, names, differences, bold, strict=True):
            if difference:
                text = " ".join(row.split()) + f": {points(difference.estimate)}"
                _interval(axes, place, difference, heavy, f"{text} ({interval(difference)})")
        axes.axvline(0, color="black", linewidth=0.8)
        # A label of the figure: long names make the panel too narrow for one of its own.
        figure.supxlabel("difference in points, with 95 % interval", fontsize=9)
        return style.as_svg(figure, name)


def seed_spread(scores: Mapping[str, Mapping[str, np.ndarray]], arms: Sequence[str]) -> str | None:
    """Every run's score as a dot, one row per column and arm; null without scores.

    Args:
        scores: column to arm to the scores of its runs: [num_runs].
        arms: in the order of their rows.
    """
    if not any(len(runs) for by_arm in scores.values() for runs in by_arm.values()):
        return None
    short = style.shortened(arms)
    names = [name for column in scores for name in (column, *short.values())]
    bold = [place % (len(arms) + 1) == 0 for place in range(len(names))]
    with matplotlib.rc_context(style.STYLE):
        figure, axes, places = style.row_canvas(names, bold, row=0.165, size=8)
        for j, (column, by_arm) in enumerate(scores.items()):
            for i, arm in enumerate(arms):
                place = places[j * (len(arms) + 1) + i + 1]
                colour, marker, _ = style.arm_style(i)
                heights = [place] * len(by_arm[arm])
                (dots,) = axes.plot(
                    by_arm[arm], heights, marker, color=colour, markersize=4, alpha=0.75
                )
                scores_text = " ".join(one_decimal(score) for score in by_arm[arm])
                style.explain(dots, f"{column}, {arm}: {scores_text}")
        axes.set_xlabel("score x 100")
        style.widen(axes, LEAST_RANGE)
        return style.as_svg(figure, "seeds")


Named = tuple[str, Difference | None, bool]
"""Name of a row of the forest plot, its difference, and whether it is bold."""


def _forest_rows(pairs: Sequence[Pair], table: Table) -> list[Named]:
    """All columns of all pairs, or of the expected pairs, or the averages: the most that fit. Pairs
    without any difference are omitted."""
    short = style.shortened(arm for pair in pairs for arm in (pair.first, pair.second))
    columns = [column.name for column in table.columns]
    every, expected, alone = (
        [row for pair in pairs for row in _rows_of(pair, short, columns if whole(pair) else ())]
        for whole in (lambda _: True, lambda pair: pair.expected, lambda _: False)
    )
    return next((rows for rows in (every, expected) if len(rows) <= MAX_ROWS), alone)


def _rows_of(pair: Pair, short: Mapping[str, str], columns: Sequence[str] = ()) -> list[Named]:
    """The average, then the columns; empty if no difference is known."""
    first, second = short[pair.first], short[pair.second]
    between = "\n− " if len(first) + len(second) > 26 else " − "
    rows: list[Named] = [
        (f"{first}{between}{second}", pair.average, True),
        *((name, pair.differences[name], False) for name in columns if pair.differences[name]),
    ]
    return rows if any(found for _, found, _ in rows) else []


def _interval(axes: Axes, y: float, difference: Difference, bold: bool, text: str) -> None:
    """Draws the interval and the estimate as one line, so that they share a tooltip."""
    places = [difference.low, difference.estimate, difference.high]
    marker, size, width = ("D", 5, 2.2) if bold else ("o", 3.5, 1.2)
    (line,) = axes.plot(places, [y] * 3, marker, ls="-", markevery=[1], ms=size, lw=width)
    line.set_color(style.COLOURS[0] if bold else style.GREY)
    style.explain(line, text)
