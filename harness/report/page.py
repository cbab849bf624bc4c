"""Writes a report: index.html, README.md, their figures, leaderboard and differences as files."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from harness.analysis.comparison.differences import comparer, same_checkpoints
from harness.analysis.comparison.resampling import arm_runs
from harness.core.files import write_atomically
from harness.leaderboard.build import build
from harness.leaderboard.measured_rows import run_scores
from harness.leaderboard.published import board_of_suite
from harness.leaderboard.ranks import with_ties
from harness.leaderboard.render import markdown_escape, markdown_table, render
from harness.leaderboard.table import Table, protocol_line
from harness.report import difference_tables
from harness.report.arm_tables import time, what_differs
from harness.report.data import ReportData, Scores
from harness.report.layout import Plot, Section
from harness.report.outline import drawn, sections
from harness.report.sections.curves import hours
from harness.report.threats import threats
from harness.report.verdict import MANY_ARMS, Pair, judge, pairwise

TEMPLATES = Path(__file__).parent / "templates"
VERDICT_NOTE = (
    "Confirmed or refuted where the 95 % interval of the difference in the average ({}) excludes "
    "zero, inconclusive otherwise. Of several expectations it must do so by Holm's correction, too."
)
FOREST_CAPTION = "Differences in points with 95 % intervals; the average over the suite is bold."


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
    content = _content(data, table, pairs, _run_scores(data, table))
    files = {
        "index.html": _page(content, table),
        "README.md": _readme(content, table),
        "leaderboard.csv": render(table, "csv"),
        "leaderboard.md": render(table, "md"),
        "differences.csv": difference_tables.differences_csv(pairs),
        **{f"{name}.svg": plot.svg for name, plot in _figures(content).items()},
    }
    out.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        write_atomically(out / name, text)


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
        "forest": _forest(pairs, table),
        "differences_shown": difference_tables.shown(pairs),
        "differences_folded": difference_tables.folded(pairs),
        "differences_note": difference_tables.note(pairs, len(data.arms) > MANY_ARMS),
        "pairs": pairs,
        "differences": what_differs(data),
        "sections": sections(data, table, scores),
        "threats": threats(data, table, pairs, scores),
        "time": Section("Time", plots=dict(hours(data)), grids={"Seconds, all stages": time(data)}),
        "provenance": data.provenance,
        "points": difference_tables.points,
        "interval": difference_tables.interval,
        "p": difference_tables.p_cell,
        "claim": difference_tables.p_of_claim,
    }


def _forest(pairs: Sequence[Pair], table: Table) -> Plot | None:
    from harness.report.figures.plots import forest

    svg = forest(pairs, table)
    return Plot(svg, FOREST_CAPTION) if svg else None


def _figures(content: Mapping[str, Any]) -> dict[str, Plot]:
    """Every figure, by the name of its file."""
    forest = {"differences": content["forest"]} if content["forest"] else {}
    return forest | drawn([*content["sections"], content["time"]])


def _page(content: Mapping[str, Any], table: Table) -> str:
    import jinja2
    from markupsafe import Markup

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES), autoescape=True, undefined=jinja2.StrictUndefined
    )
    # Our own table, already escaped where it was made.
    return environment.get_template("page.html.jinja").render(
        content, leaderboard=Markup(render(table, "html"))
    )


def _readme(content: Mapping[str, Any], table: Table) -> str:
    import jinja2

    environment = jinja2.Environment(  # markdown, escaped by `md`
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=False,
        undefined=jinja2.StrictUndefined,
    )
    return environment.get_template("README.md.jinja").render(
        content,
        leaderboard=render(table, "md"),
        md=markdown_escape,
        table=lambda grid: "\n".join(markdown_table(grid.head, grid.rows, grid.text_columns)),
    )


def _run_scores(data: ReportData, table: Table) -> Scores:
    by_arm = {arm: data.results[data.results["arm"] == arm] for arm in data.arms}
    return {
        column.name: {arm: run_scores(rows, column).to_numpy() for arm, rows in by_arm.items()}
        for column in table.columns
    }
