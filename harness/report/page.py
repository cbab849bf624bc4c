"""Writes a report: index.html, README.md, their figures, leaderboard and differences as files."""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from harness.differences import apart_from_the_first, condensed
from harness.leaderboard import board_of_suite, build, protocol_line, render, run_scores
from harness.leaderboard.rendering import MISSING, markdown_escape, markdown_table
from harness.leaderboard.tables import Table
from harness.report.comparing import AVERAGE, comparer, same_checkpoints
from harness.report.continuing import LOSS_NOTE, losses_table
from harness.report.data import ReportData, Scores
from harness.report.grid import Grid, Plot
from harness.report.learning import learning_points, learning_table
from harness.report.probes import PROBE_NOTE, probe_tables
from harness.report.resampling import REPLICATES, arm_runs
from harness.report.searching import (
    importance_table,
    search_curves,
    search_note,
    search_table,
    settings_table,
)
from harness.report.sections import adapting_sections, drawn
from harness.report.threats import threats
from harness.report.ties import with_ties
from harness.report.verdict import MANY_ARMS, Pair, judge, pairwise
from harness.statistics import Difference

TEMPLATES = Path(__file__).parent / "templates"
STAGE_KINDS = ("tokenizer", "tokens", "pretrain", "continued", "probe", "tune", "finetune")
DIFFERENCES_NOTE = (
    "95 % intervals of two parts: the spread of pretraining seeds, by Student's quantile with the "
    "degrees of freedom of Welch (fine-tuning runs are averaged within their seed), and that of "
    f"the dev examples, resampled {REPLICATES:,} times for all runs at once. Arms that start from "
    "the same checkpoints are paired. p is two-sided; adjusted p is by Benjamini and Hochberg, of "
    "all differences between any two arms: of those with one below 0.05, about 5 % are false at "
    "most, and by it arms share ranks. Arms of one pretraining seed have none."
)
MANY_NOTE = (
    " Of so many arms only the expected pairs are shown, and each arm beside the one that came out "
    "first; being picked for that, it flatters itself a little, which the adjusted p heeds."
)
VERDICT_NOTE = (
    "Confirmed or refuted where the 95 % interval of the difference in the average ({}) excludes "
    "zero, inconclusive otherwise. Of several expectations it must do so by Holm's correction, too."
)


def write_report(data: ReportData, out: Path) -> None:
    """Writes the report of `data` into the folder `out`, which is made if it is not there.

    Raises:
        ValueError: the results do not fit the suite, or runs of a task saw different examples.
    """
    here = data.results[data.results["suite"] == data.suite_name]
    data = replace(data, results=here, predictions=cache(data.predictions))
    table = _table(data)
    runs = arm_runs(data, table)
    compared = comparer(runs, table, same_checkpoints(data.differences))
    table = with_ties(table, compared)
    pairs = pairwise(data, table, compared)
    scores = _run_scores(data, table)
    plots = _plots(data, table, pairs, scores)
    content = _content(data, table, pairs, scores)
    files = {
        "index.html": _page(content, plots, table),
        "README.md": _readme(content, plots, table),
        "leaderboard.csv": render(table, "csv"),
        "leaderboard.md": render(table, "md"),
        "differences.csv": _differences_csv(pairs),
        **{f"{name}.svg": plot.svg for name, plot in plots.items()},
        **{f"{name}.svg": plot.svg for name, plot in drawn(content["sections"]).items()},
    }
    out.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (out / name).write_text(text, encoding="utf-8")


def _table(data: ReportData) -> Table:
    board = board_of_suite(data.suite_name)
    return build(
        data.results,
        data.suite,
        data.average,
        tasks=data.tasks,
        arms=data.arms,
        published=board.published if board else (),
        protocol=protocol_line(data.protocol),
        trained=data.trained,
    )


def _content(
    data: ReportData, table: Table, pairs: Sequence[Pair], scores: Scores
) -> dict[str, Any]:
    """What page and markdown twin both say."""
    return {
        "name": data.name,
        "question": data.question,
        "source": data.source,
        "verdicts": [judge(pair) for pair in pairs if pair.expected],
        "verdict_note": VERDICT_NOTE.format(table.average.name),
        "differences_note": DIFFERENCES_NOTE + (MANY_NOTE if len(data.arms) > MANY_ARMS else ""),
        "pairs": pairs,
        "differences": _what_differs(data),
        "learning": learning_table(data),
        "probes": probe_tables(data.probes, data.arms),
        "probe_note": PROBE_NOTE,
        "losses": losses_table(data.losses),
        "losses_note": LOSS_NOTE,
        "search": search_table(data),
        "settings": settings_table(data),
        "importance": importance_table(data),
        "search_note": search_note(data),
        "sections": adapting_sections(data),
        "cost": _cost(data),
        "time": _time(data.costs, data.arms),
        "flops_convention": data.flops_convention,
        "threats": threats(data, table, pairs, scores),
        "provenance": data.provenance,
        "points": points,
        "interval": interval,
        "p": p_cell,
        "claim": p_of_claim,
    }


def _page(content: Mapping[str, Any], plots: Mapping[str, Plot], table: Table) -> str:
    import jinja2
    from markupsafe import Markup

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES), autoescape=True, undefined=jinja2.StrictUndefined
    )
    # Our own figures and table, already escaped where they were made.
    inline = {name: replace(plot, svg=Markup(plot.svg)) for name, plot in plots.items()}
    return environment.get_template("page.html.jinja").render(
        content, plots=_all_plots(inline), leaderboard=Markup(render(table, "html"))
    )


def _readme(content: Mapping[str, Any], plots: Mapping[str, Plot], table: Table) -> str:
    import jinja2

    environment = jinja2.Environment(  # markdown, escaped by `md`
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=False,
        undefined=jinja2.StrictUndefined,
    )
    return environment.get_template("README.md.jinja").render(
        content,
        plots=_all_plots(plots),
        leaderboard=render(table, "md"),
        differences_table=_differences_grid(content["pairs"]),
        md=markdown_escape,
        table=lambda grid: "\n".join(markdown_table(grid.head, grid.rows, grid.text_columns)),
    )


def _all_plots(plots: Mapping[str, Plot]) -> dict[str, Plot | None]:
    return {
        name: plots.get(name) for name in ("loss", "differences", "seeds", "learning", "search")
    }


def _plots(
    data: ReportData, table: Table, pairs: Sequence[Pair], scores: Scores
) -> dict[str, Plot]:
    from harness.report import plots

    drawn = {
        "loss": (
            plots.loss_curves(data.curves, data.arms),
            "Training loss by tokens read: each pretraining seed thin, their mean bold. Losses of "
            "arms with different objectives or vocabularies are not to be compared.",
        ),
        "differences": (
            plots.forest(pairs, table),
            "Differences in points with 95 % intervals; the average over the suite is bold.",
        ),
        "learning": (
            plots.learning_curves(learning_points(data)),
            "Average over the suite by tokens read: each pretraining seed a dot, their mean the "
            "line. Joined dots are weights along one run; a run of its own ends at its last dot.",
        ),
        "search": (
            plots.search_curves(search_curves(data), data.arms),
            "Expected best score on the hold-out by the number of random trials, mean over tasks, "
            "with its standard deviation.",
        ),
        "seeds": (
            plots.seed_spread(scores, data.arms),
            "The score of every run: one dot for each pretraining and fine-tuning seed.",
        ),
    }
    return {name: Plot(svg, caption) for name, (svg, caption) in drawn.items() if svg}


def _run_scores(data: ReportData, table: Table) -> Scores:
    by_arm = {arm: data.results[data.results["arm"] == arm] for arm in data.arms}
    return {
        column.name: {arm: run_scores(rows, column).to_numpy() for arm, rows in by_arm.items()}
        for column in table.columns
    }


def _what_differs(data: ReportData) -> Grid:
    """Field by field; of many arms only what sets each one apart from the first."""
    if len(data.arms) > MANY_ARMS and data.differences:
        apart = apart_from_the_first(data.differences, data.arms)
        lines = [
            [arm, "; ".join(f"{path} = {_value(value)}" for path, value in fields)]
            for arm, fields in apart.items()
        ]
        return Grid(["arm", f"where it is not as {data.arms[0]}"], lines, text_columns=(0, 1))
    rows = [
        [path, *(_value(values.get(arm)) for arm in data.arms)]
        for path, values in condensed(data.differences)
    ]
    return Grid(["field", *data.arms], rows, text_columns=range(len(data.arms) + 1))


def _value(value: Any) -> str:
    if isinstance(value, list | tuple):
        return "; ".join(_value(item) for item in value)
    if isinstance(value, Mapping):
        return protocol_line(value)
    return MISSING if value is None else str(value)


def _cost(data: ReportData) -> Grid:
    costs = data.costs[data.costs["stage"] == "pretrain"].set_index("arm")
    columns = {"parameters": "{:,.0f}", "tokens": "{:,.0f}", "flops": "{:.2e}"}
    rows = [
        [arm, *(_figure(costs, arm, name, form) for name, form in columns.items())]
        for arm in dict.fromkeys([*data.arms, *costs.index])
    ]
    return Grid(["arm", "parameters", "tokens", "FLOPs"], rows)


def _time(costs: pd.DataFrame, arms: Sequence[str]) -> Grid:
    kinds = [kind for kind in STAGE_KINDS if (costs["stage"] == kind).any()]
    rows = []
    for arm in arms:
        here = costs[costs["arm"] == arm].set_index("stage")
        rows.append([arm, *(_figure(here, kind, "seconds", "{:,.1f}") for kind in kinds)])
    return Grid(["arm", *kinds], rows if kinds else [])


def _figure(frame: pd.DataFrame, row: str, column: str, form: str) -> str:
    value = frame[column].astype(float).get(row, np.nan)
    return MISSING if np.isnan(value) else form.format(value)


def _differences_grid(pairs: Sequence[Pair]) -> Grid:
    rows = []
    for pair in pairs:
        for column, found in pair.differences.items():
            cells = [MISSING] * 4
            if found:
                p_values = found.p_value, pair.screen.get(column)
                cells = [points(found.estimate), interval(found), *map(p_cell, p_values)]
            rows.append([f"{pair.first} − {pair.second}", column, *cells])
    return Grid(["arms", "column", "difference", "95 % interval", "p", "adjusted p"], rows, (0, 1))


def _differences_csv(pairs: Sequence[Pair]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    numbers = ["difference", "low", "high", "p_value", "p_benjamini_hochberg", "p_holm"]
    writer.writerow(["first", "second", "expected", "column", *numbers])
    for pair in pairs:
        for column, found in pair.differences.items():
            numbers = [""] * 6
            if found:
                claim = pair.claim if column == AVERAGE else None
                values = [found.estimate, found.low, found.high, found.p_value]
                more = [pair.screen.get(column), claim]
                numbers = ["" if value is None else f"{value:.4f}" for value in [*values, *more]]
            writer.writerow([pair.first, pair.second, str(pair.expected).lower(), column, *numbers])
    return text.getvalue()


def points(value: float) -> str:
    """A difference of scores with its sign."""
    return f"{value:+.1f}".replace("-", "−")


def interval(found: Difference) -> str:
    """From where to where; in words where there is nothing between the arms."""
    if found.low == found.high == 0:
        return "equal in every run"
    return f"{points(found.low)} to {points(found.high)}"


def p_cell(value: float | None) -> str:
    """A p-value, or what it lies below."""
    if value is None:
        return MISSING
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def p_of_claim(pair: Pair) -> str:
    """p of the average's difference, and what several expectations make of it."""
    if not pair.average:
        return ""
    alone = f"p {p_cell(pair.average.p_value)}"
    if pair.claim is None or pair.claim == pair.average.p_value:
        return alone
    return f"{alone}, by Holm {p_cell(pair.claim)}"
