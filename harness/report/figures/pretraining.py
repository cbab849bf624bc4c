"""Figures of the course of pretraining, by tokens, FLOPs or hours, and of loss against score."""

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any

import matplotlib
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.container import ErrorbarContainer
from matplotlib.lines import Line2D
from matplotlib.ticker import EngFormatter

from harness.report.figures import style

COSTS = {
    "tokens": "pretraining tokens",
    "flops": "FLOPs of pretraining",
    "hours": "hours of pretraining",
    "minutes": "minutes of pretraining",
}
HEIGHT = 2.8
"""Height of a panel of curves, in inches."""
TASK_HEIGHT = 1.9
"""Height of a panel of one task, in inches."""
GROUP_HEIGHT = 2.4
"""Height of a panel of losses and scores, in inches."""
WIDE = 50
"""Highest loss over lowest above which their axis is logarithmic."""
Draw = Callable[[Axes, pd.DataFrame, str, int, str], Line2D]
"""Draws the points of a run by cost (axes, points, cost, number and name of the run); returns the
line of their mean."""


def loss_curves(
    points: pd.DataFrame, rows: Mapping[str, Sequence[str]], costs: Sequence[str], name: str
) -> str | None:
    """Training loss by each of `costs`: seeds as thin lines, their mean in bold; null if empty.

    Args:
        points: result of `harness.report.sections.pretraining.curve_points`.
        rows: result of `loss_rows` for the runs of `points`.
        name: of the file, without the ending.
    """
    runs = list(points["run"].unique())
    return _panels(points, runs, costs, name, "training loss (nats)", _loss, rows=rows)


def loss_rows(runs: Sequence[str], groups: Sequence[Sequence[str]]) -> dict[str, list[str]]:
    """Title of each row of panels to its runs: a row for each of `groups`, of runs with comparable
    losses, and one for those that are comparable with no other; one without a title if all share
    it."""
    known = [[run for run in group if run in runs] for group in groups]
    several = [group for group in known if len(group) > 1]
    others = [run for run in runs if not any(run in group for group in several)]
    rows = several + [others] * bool(others)
    if len(rows) == 1:
        return {"": rows[0]}
    titles = [f"comparable held-out losses ({number + 1})" for number in range(len(several))]
    return dict(zip([*titles, "others"], rows, strict=False))


def learning_curves(
    points: pd.DataFrame, arms: Sequence[str], costs: Sequence[str], name: str
) -> str | None:
    """Average by each of `costs` (logarithmic axis): seeds as dots, their mean as a line, which is
    horizontal for an arm that costs nothing; null if empty.

    Args:
        points: result of `harness.report.sections.curves.learning_points`, with `arm` renamed to
            `run`.
        arms: in the order of their colours.
    """
    value = "average of the suite x 100"
    return _panels(points, arms, costs, name, value, _learning)


def task_curves(
    points: pd.DataFrame, arms: Sequence[str], name: str = "learning_tasks"
) -> str | None:
    """Score of each column by tokens (logarithmic axis), a panel each: the mean over seeds as a
    line, with bars from the lowest to the highest; null if the tokens are unknown.

    Args:
        points: result of `harness.report.sections.curves.task_points`.
        arms: in the order of their colours.
        name: of the figure.
    """
    points = points[points["tokens"] > 0].dropna(subset="score")
    if points.empty:
        return None
    columns, numbers = list(points["column"].unique()), _numbers(points["arm"], arms)
    with matplotlib.rc_context(style.STYLE):
        short, drawn = style.shortened(numbers), {}
        rows = -(-len(columns) // 2)
        figure, grid = style.panels(rows, TASK_HEIGHT, short.values(), min(2, len(columns)))
        for axes, column in zip(grid, columns, strict=False):
            for arm, i in numbers.items():
                own = points[(points["arm"] == arm) & (points["column"] == column)]
                drawn[short[arm]] = _with_bars(axes, own, i, f"{arm}, {column}")
            axes.set_title(column, fontsize=9)
            axes.grid(axis="y")
            style.log_scale(axes, EngFormatter(sep=""))
        for axes in grid[len(columns) :]:
            axes.set_visible(False)
        figure.supxlabel("pretraining tokens", fontsize=9)
        figure.supylabel("score x 100", fontsize=9)
        style.legend_above(figure, drawn)
        return style.as_svg(figure, name)


def loss_and_score(points: pd.DataFrame, arms: Sequence[str]) -> str:
    """Average by held-out loss, one panel per group; the loss decreases to the right.

    Args:
        points: result of `harness.report.sections.transfer.transfer_points`.
        arms: in the order of their colours.
    """
    groups = list(points.groupby("group"))
    named = [arm for arm in arms if (points["arm"] == arm).any()]
    with matplotlib.rc_context(style.STYLE):
        short, drawn = style.shortened(named), {}
        figure, grid = style.panels(len(groups), GROUP_HEIGHT, short.values())
        for axes, (group, runs) in zip(grid, groups, strict=True):
            for i, arm in enumerate(named):
                own = runs[runs["arm"] == arm]
                colour, marker, _ = style.arm_style(i)
                x, y = own["loss"], own["average"]
                # Arms of other groups have no points here.
                (dots,) = axes.plot(x, y, marker, color=colour, markersize=4, alpha=0.75)
                style.explain(dots, arm)
                drawn[short[arm]] = dots
            axes.invert_xaxis()
            axes.set_title(f"group {group}", fontsize=9)
            axes.set_xlabel("held-out loss (nats per predicted token)")
            axes.set_ylabel("average x 100")
            axes.grid(axis="y")
        style.legend_above(figure, drawn)
        return style.as_svg(figure, "transfer")


def _numbers(shown: "pd.Series[str]", arms: Sequence[str]) -> dict[str, int]:
    """The arms that are shown, with the number of their colour: that of the same arm in other
    figures, which may show more of them."""
    known = set(shown)
    return {arm: number for number, arm in enumerate(arms) if arm in known}


def _panels(
    points: pd.DataFrame,
    runs: Sequence[str],
    costs: Sequence[str],
    name: str,
    value: str,
    draw: Draw,
    rows: Mapping[str, Sequence[str]] | None = None,
) -> str | None:
    """A panel for each of `costs`, or a row of them for each of `rows` (title to its runs); with a
    logarithmic x axis without `rows`. Hours are shown as minutes if all runs took less than one."""
    if points.empty or not costs:
        return None
    if "hours" in costs and points["hours"].max() < 1:
        points = points.assign(minutes=60 * points["hours"])
        costs = ["minutes" if cost == "hours" else cost for cost in costs]
    with matplotlib.rc_context(style.STYLE):
        numbers = _numbers(points["run"], runs)
        short, drawn = style.shortened(numbers), {}
        shown = rows or {"": list(numbers)}
        height = HEIGHT if len(shown) == 1 else GROUP_HEIGHT
        figure, grid = style.panels(len(shown), height, short.values(), len(costs), sharey=True)
        for axes, ((title, own), cost) in zip(grid, product(shown.items(), costs), strict=True):
            for run in own:
                of_run = points[points["run"] == run]
                drawn[short[run]] = draw(axes, of_run, cost, numbers[run], run)
            _set_costs(axes, cost, logarithmic=rows is None)
            if cost == costs[0]:
                axes.set_title(title, fontsize=9, loc="left")
                axes.set_ylabel(value)
                if rows and _is_wide(points[points["run"].isin(own)]["loss"]):
                    style.log_scale(axes, "{:g}".format, "y")
        style.legend_above(figure, {short[run]: drawn[short[run]] for run in numbers})
        return style.as_svg(figure, name)


def _is_wide(losses: "pd.Series[float]") -> bool:
    """Whether an axis that shows the highest losses would make the lowest look equal."""
    return bool(losses.min() > 0 and losses.max() > WIDE * losses.min())


def _set_costs(axes: Axes, cost: str, *, logarithmic: bool) -> None:
    axes.set_xlabel(COSTS[cost])
    axes.grid(axis="y")
    is_time = cost in ("hours", "minutes")
    text = "{:g}".format if is_time else EngFormatter(sep="")
    if logarithmic:
        style.log_scale(axes, text)
    elif not is_time:
        axes.xaxis.set_major_formatter(text)


def _loss(axes: Axes, points: pd.DataFrame, cost: str, number: int, run: str) -> Line2D:
    colour, _, dash = style.arm_style(number)
    for _, seed in points.groupby("pretrain_seed"):
        (thin,) = axes.plot(seed[cost], seed["loss"], color=colour, linewidth=0.6, alpha=0.45)
        style.explain(thin, run)
    # Tokens and hours after the same update differ a little between seeds.
    mean = points.groupby("step")[[cost, "loss"]].mean()
    (line,) = axes.plot(mean[cost], mean["loss"], dash, color=colour, linewidth=1.8)
    style.explain(line, run)
    return line


def _learning(axes: Axes, points: pd.DataFrame, cost: str, number: int, run: str) -> Line2D:
    colour, marker, dash = style.arm_style(number)
    if points["tokens"].eq(0).all():  # which a logarithmic axis does not have
        level = axes.axhline(points["average"].mean(), color=colour, linestyle=dash, linewidth=1)
        style.explain(level, run)
        return level
    (dots,) = axes.plot(
        points[cost], points["average"], marker, color=colour, markersize=3, alpha=0.5
    )
    mean = points.groupby("pretrain_fraction")[[cost, "average"]].mean()
    (line,) = axes.plot(mean[cost], mean["average"], dash, color=colour, linewidth=1.6)
    for artist in (dots, line):
        style.explain(artist, run)
    return line


def _with_bars(axes: Axes, points: pd.DataFrame, number: int, text: str) -> ErrorbarContainer:
    colour, marker, dash = style.arm_style(number)
    scores = points.groupby("tokens")["score"].agg(["mean", "min", "max"]).astype(float)
    bars = [scores["mean"] - scores["min"], scores["max"] - scores["mean"]]
    line_style: Any = {"color": colour, "markersize": 3, "linewidth": 1.4, "elinewidth": 0.8}
    drawn = axes.errorbar(scores.index, scores["mean"], bars, fmt=marker + dash, **line_style)
    style.explain(drawn.lines[0], text)
    return drawn
