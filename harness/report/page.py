"""Writes a report: index.html, README.md, their figures, leaderboard and differences as files."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.analysis.results import Results
from harness.core.files import write_atomically
from harness.leaderboard.experiment_table import experiment_comparer, experiment_table
from harness.leaderboard.ranks import with_ties
from harness.leaderboard.render import markdown_escape, markdown_table, render
from harness.leaderboard.table import Table
from harness.report import difference_tables
from harness.report.arm_tables import time, what_differs
from harness.report.layout import Plot, Section
from harness.report.outline import figures, sections
from harness.report.provenance import report_provenance
from harness.report.run_scores import all_run_scores
from harness.report.sections.curves import hours
from harness.report.threats import threats
from harness.report.verdict import MANY_ARMS, Pair, judge, pairwise

TEMPLATES = Path(__file__).parent / "templates"
VERDICT_NOTE = (
    "Confirmed or refuted where the 95 % interval of the difference in the average ({}) excludes "
    "zero, inconclusive otherwise. Of several expectations it must do so by Holm's correction, too."
)
FOREST_CAPTION = "Differences in points with 95 % intervals; the average over the suite is bold."


def write_report(results: Results, out: Path) -> None:
    """Writes the report of an experiment into the folder `out`, which is created if need be.

    Equal results give equal files, but for the section on provenance.

    Raises:
        ValueError: the results do not fit the suite, or runs of a task were scored on different
            examples.
    """
    table = experiment_table(results)
    compared = experiment_comparer(results, table)
    table = with_ties(table, compared)
    pairs = pairwise(results, table, compared)
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


def _content(results: Results, table: Table, pairs: Sequence[Pair]) -> dict[str, Any]:
    """The variables of both templates."""
    scores = all_run_scores(results, table)
    experiment, many = results.experiment, len(results.arms) > MANY_ARMS
    return {
        "name": experiment.name,
        "question": experiment.question,
        "source": experiment.source,
        "verdicts": [judge(pair) for pair in pairs if pair.expected],
        "verdict_note": VERDICT_NOTE.format(table.average.name),
        "forest": _forest(pairs, table),
        "differences_shown": difference_tables.shown(pairs),
        "differences_folded": difference_tables.folded(pairs),
        "differences_note": difference_tables.note(pairs, many),
        "pairs": pairs,
        "differences": what_differs(results),
        "sections": sections(results, table, scores),
        "threats": threats(results, table, pairs, scores),
        "time": Section(
            "Time", plots=dict(hours(results)), tables={"Seconds, all stages": time(results)}
        ),
        "provenance": results.get(report_provenance),
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
    return forest | figures([*content["sections"], content["time"]])


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
