"""The board of findings as markdown."""

from collections.abc import Sequence
from pathlib import Path

from harness.leaderboard.markdown import markdown_escape
from harness.report.findings.board import Finding
from harness.report.findings.content import content
from harness.report.findings.decisions import ReportDecisions
from harness.report.layout import template

TEMPLATES = Path(__file__).parent / "templates"


def board(
    found: Sequence[Finding],
    reports: Path,
    out: Path,
    decisions: Sequence[ReportDecisions] = (),
) -> str:
    """The board: the summary, and each claim with its verdict, differences and reports.

    Args:
        reports: the folder of all reports, to which the board links.
        out: the file of the board.
        decisions: result of `harness.report.findings.decisions.read_decisions`.
    """
    values = content(found, reports, out, decisions)
    page = template("findings.md.jinja", TEMPLATES, escape=False)  # escaped by `md`
    return page.render(**values, md=markdown_escape)
