"""Writes a report: index.html, README.md, figures, and the leaderboard and differences as files."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from harness.analysis.results import Results
from harness.core.files import write_atomically
from harness.leaderboard.build import experiment_comparer, experiment_table
from harness.leaderboard.ranks import with_ties
from harness.leaderboard.render import markdown_escape, markdown_table, render
from harness.leaderboard.table import Table
from harness.leaderboard.text_tables import html_table
from harness.report import difference_tables, outline
from harness.report.arm_tables import time, what_differs
from harness.report.figures.differences import forest
from harness.report.layout import Plot, Section, template
from harness.report.provenance import report_provenance
from harness.report.run_scores import all_run_scores
from harness.report.sections.curves import hours
from harness.report.threats import threats
from harness.report.verdict import MANY_ARMS, Pair, judge, pairwise

VERDICT_NOTE = (
    "Confirmed or refuted if the 95 % interval of the difference in the average ({}) excludes "
    "zero, otherwise inconclusive. If several differences are expected, each must also be "
    "significant after Holm's correction to be confirmed or refuted."
)
FOREST_CAPTION = "Differences in points with 95 % intervals; the average over the suite is bold."


def write_report(results: Results, out: Path) -> None:
    """Writes the report of an experiment into the folder `out`, which is created if necessary.

    Equal results give equal files, except for the section on provenance.

    Raises:
        ValueError: the results do not fit the suite, or runs of a task were scored on different
            examples.
    """
    table, pairs = _compared(results)
    content = _content(results, table, pairs)
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


def report_figures(results: Results) -> dict[str, Plot]:
    """Every figure of the report, by the name of its file without the ending.

    Raises:
        ValueError: as `write_report` does.
    """
    return _figures(_content(results, *_compared(results)))


def _compared(results: Results) -> tuple[Table, tuple[Pair, ...]]:
    """The leaderboard with its ties, and the compared pairs of arms."""
    table = experiment_table(results)
    compared = experiment_comparer(results, table)
    table = with_ties(table, compared)
    return table, pairwise(results, table, compared)


def _content(results: Results, table: Table, pairs: Sequence[Pair]) -> dict[str, Any]:
    """The variables of both templates."""
    experiment, many = results.experiment, len(results.arms) > MANY_ARMS
    svg = forest(pairs, table)
    return {
        "name": experiment.name,
        "question": experiment.question,
        "source": experiment.source,
        "verdicts": [judge(pair) for pair in pairs if pair.expected],
        "verdict_note": VERDICT_NOTE.format(table.average.name),
        "forest": Plot(svg, FOREST_CAPTION) if svg else None,
        "differences_shown": difference_tables.shown(pairs),
        "differences_folded": difference_tables.folded(pairs),
        "differences_note": difference_tables.note(pairs, many),
        "what_differs": what_differs(results),
        "sections": outline.sections(results),
        "threats": threats(results, table, pairs, results.get(all_run_scores)),
        "time": Section(
            "Time", plots=hours(results), tables={"Seconds, all stages": time(results)}
        ),
        "provenance": results.get(report_provenance),
        "points": difference_tables.points,
        "interval": difference_tables.interval,
        "claim": difference_tables.p_of_claim,
    }


def _figures(content: Mapping[str, Any]) -> dict[str, Plot]:
    """Every figure by the name of its file, without the ending."""
    found = {"differences": content["forest"]} if content["forest"] else {}
    for section in (*content["sections"], content["time"]):
        found |= section.plots
    return found


def _page(content: Mapping[str, Any], table: Table) -> str:
    leaderboard = Markup(render(table, "html"))  # escaped by `render`
    return template("page.html.jinja").render(
        content, leaderboard=leaderboard, html_table=lambda *grid: Markup(html_table(*grid))
    )


def _readme(content: Mapping[str, Any], table: Table) -> str:
    return template("README.md.jinja", escape=False).render(  # escaped by `md`
        content,
        leaderboard=render(table, "md"),
        md=markdown_escape,
        table=lambda grid: "\n".join(markdown_table(grid.head, grid.rows, grid.text_columns)),
    )
