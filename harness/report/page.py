"""Writes a report: index.html, README.md, figures, and the leaderboard and differences as files."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from markupsafe import Markup

from harness.analysis.frames.costs import pretraining_costs
from harness.analysis.results import Results
from harness.core.files import has_earlier, write_atomically
from harness.experiment.expectation import NonInferiority
from harness.leaderboard.markdown import markdown_escape, markdown_table
from harness.leaderboard.render import markdown_notes, measured_markdown, render
from harness.leaderboard.table import Table
from harness.leaderboard.text_tables import html_table
from harness.report import difference_tables, outline
from harness.report.arm_tables import what_differs
from harness.report.comparison import compared_arms, compared_table
from harness.report.downloads import DESCRIPTIONS, downloads
from harness.report.expectations import claims
from harness.report.figures.differences import averages, forest
from harness.report.layout import Plot, template
from harness.report.looks import look_note
from harness.report.pairwise import MANY_ARMS
from harness.report.provenance import report_provenance
from harness.report.run_scores import all_run_scores
from harness.report.sections.total_cost import cost_line
from harness.report.threats import threats
from harness.report.verdict import Pair, judge
from harness.report.verdict_rows import verdicts_csv

VERDICT_NOTE = (
    "Confirmed or refuted if the 95 % interval of the difference in the average ({}), or in what "
    "is named, excludes zero, otherwise inconclusive. If several differences are expected, each "
    "must also be significant after Holm's correction to be confirmed or refuted. Void if an arm "
    "is not shown to be above chance or an untrained network, or if all are at the maximum. An "
    "equality within a margin is judged by one-sided tests at 5 %, whose p is shown."
)
DIFFERENCES = "differences.csv"
"""The file that is written first, by which an earlier report is known."""
SUMMARY_CAPTION = "Differences in the average over the suite, in points, with 95 % intervals."
PROTOCOL = "the table under Protocol"
"""Stands in the notes of the leaderboard, which the report shows without the settings."""
FOREST_CAPTION = "Differences in points with 95 % intervals; the average over the suite is bold."
MARGIN_NOTE = (
    " That an arm is not worse than another by a margin (>= or <= ... within) is judged by the "
    "interval of the first minus the second, and by p, against the margin instead of zero."
)


def write_report(results: Results, out: Path) -> None:
    """Writes the report of an experiment into the folder `out`, which is created if necessary.

    Files of an earlier report there that this one does not have are removed, but for figures.
    Equal results give equal files, except for times: the line on cost, the section on cost, the
    provenance, and the seconds in `stages.csv` and `trials.csv`.

    Raises:
        ValueError: the results do not fit the suite, runs of a task were scored on different
            examples, or `out` has files of these names that are not of a report.
    """
    table, pairs = results.get(compared_table)
    data = {
        "leaderboard.csv": render(table, "csv"),
        "leaderboard.md": render(table, "md"),
        DIFFERENCES: difference_tables.differences_csv(pairs),
        **downloads(results),
    }
    content = _content(results, table, pairs)
    if verdicts := content["verdicts"]:
        data["verdicts.csv"] = verdicts_csv(
            results.experiment,
            verdicts,
            {
                str(arm): float(tokens)
                for arm, tokens in pretraining_costs(results)["tokens"].items()
            },
        )
    content["downloads"] = {name: DESCRIPTIONS[name] for name in data}
    shown = replace(table, protocol=PROTOCOL)
    files = {
        DIFFERENCES: data[DIFFERENCES],
        **data,
        "index.html": _page(content, shown),
        "README.md": _readme(content, shown),
        **{f"{name}.svg": plot.svg for name, plot in _figures(content).items()},
    }
    out.mkdir(parents=True, exist_ok=True)
    is_earlier = has_earlier(out, files, DIFFERENCES, "report")
    for name, text in files.items():
        write_atomically(out / name, text)
    # Of an earlier report: the board of findings would read verdicts and decisions of other arms.
    for name in DESCRIPTIONS.keys() - files.keys() if is_earlier else ():
        (out / name).unlink(missing_ok=True)


def report_figures(results: Results) -> dict[str, Plot]:
    """Every figure of the report, by the name of its file without the ending.

    Raises:
        ValueError: as `write_report` does.
    """
    return _figures(_content(results, *results.get(compared_table)))


def _margin_note(results: Results) -> str:
    expected = results.experiment.expectations
    return MARGIN_NOTE if any(isinstance(one, NonInferiority) for one in expected) else ""


def _content(results: Results, table: Table, pairs: Sequence[Pair]) -> dict[str, Any]:
    """The variables of both templates."""
    experiment, many = results.experiment, len(results.arms) > MANY_ARMS
    svg, summary = forest(pairs, table), averages(pairs)
    return {
        "name": experiment.name,
        "question": experiment.question,
        "source": experiment.source,
        "verdicts": [judge(one) for one in claims(results, results.get(compared_arms))],
        "verdict_note": VERDICT_NOTE.format(table.average.name)
        + _margin_note(results)
        + look_note(results),
        "summary": Plot(summary, SUMMARY_CAPTION) if summary else None,
        "cost": cost_line(results),
        "forest": Plot(svg, FOREST_CAPTION) if svg else None,
        "differences_shown": difference_tables.shown(pairs),
        "differences_folded": difference_tables.folded(pairs),
        "differences_note": difference_tables.note(pairs, many),
        "what_differs": what_differs(results),
        "sections": outline.sections(results),
        "threats": threats(results, table, pairs, results.get(all_run_scores)),
        "provenance": results.get(report_provenance),
        "claimed_figure": difference_tables.claimed_figure,
        "claimed_interval": difference_tables.claimed_interval,
    }


def _figures(content: Mapping[str, Any]) -> dict[str, Plot]:
    """Every figure by the name of its file, without the ending."""
    named = {"averages": content["summary"], "differences": content["forest"]}
    found = {name: plot for name, plot in named.items() if plot}
    for section in content["sections"]:
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
        leaderboard=measured_markdown(table),
        leaderboard_notes=markdown_notes(table),
        md=markdown_escape,
        table=lambda grid: "\n".join(markdown_table(grid.head, grid.rows, grid.text_columns)),
    )
