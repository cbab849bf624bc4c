"""The board of findings as a self-contained page with filters."""

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from harness.experiment.outcomes import POINTS
from harness.report.figures.findings import verdicts_by_area
from harness.report.findings.board import Evidence, Finding, counts
from harness.report.findings.content import content
from harness.report.findings.decisions import ReportDecisions
from harness.report.findings.markdown import TEMPLATES
from harness.report.layout import template

WIDTH, HALF = 120, 60.0
"""Of the drawing of an interval: width in pixels, and the points at its ends."""
FIGURES = ("averages.svg", "differences.svg", "learning.svg", "loss.svg")
"""Of those that a report has, the first stands for it."""


def page(
    found: Sequence[Finding],
    reports: Path,
    out: Path,
    decisions: Sequence[ReportDecisions] = (),
) -> str:
    """The board as html, filtered by area, verdict, report and words; all text is escaped.

    Args:
        reports: the folder of all reports, to which the board links.
        out: the file of the page.
        decisions: result of `harness.report.findings.decisions.read_decisions`.
    """
    by_area = {area: counts(list(own)) for area, own in groupby(found, lambda one: one.claim.area)}
    return template("findings.html.jinja", TEMPLATES, trim=True).render(
        **content(found, reports, out, decisions),
        figure=verdicts_by_area(by_area),
        reports=sorted({one.report for finding in found for one in finding.evidence}),
        interval=interval,
        figure_of=lambda one: figure_of(reports / one.report),
        width=WIDTH,
        half=f"{HALF:g}",
    )


def interval(one: Evidence) -> tuple[float, float, float] | None:
    """Low end, difference and high end in pixels from the left, cut at the ends of the drawing;
    null without an interval in points."""
    if one.unit != POINTS or one.difference is None or one.low is None or one.high is None:
        return None
    low, middle, high = (_pixels(value) for value in (one.low, one.difference, one.high))
    return low, middle, high


def _pixels(points: float) -> float:
    within = max(-HALF, min(HALF, points))
    return round(WIDTH * (within + HALF) / (2 * HALF), 1)


def figure_of(report: Path) -> str:
    """The file of the figure that stands for a report; empty if it has none."""
    return next((name for name in FIGURES if (report / name).is_file()), "")
