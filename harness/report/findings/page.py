"""The board of findings as markdown."""

import os
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from harness.experiment.claims import CLAIMS
from harness.experiment.outcomes import POINTS
from harness.leaderboard.cells import MISSING
from harness.leaderboard.markdown import markdown_escape
from harness.report.difference_tables import amount
from harness.report.findings.board import (
    Evidence,
    Finding,
    accuracy_by_budget,
    counts,
    decision_accuracy,
    num_counted,
)
from harness.report.findings.decisions import ReportDecisions
from harness.report.layout import template


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
        decisions: of small experiments and larger ones; result of
            `harness.report.findings.decisions.read_decisions`.
    """
    areas = [(area, list(own)) for area, own in groupby(found, lambda one: one.claim.area)]
    return template("findings.md.jinja", escape=False).render(  # escaped by `md`
        areas=areas,
        counts=counts(found),
        num_claims=len(CLAIMS),
        accuracy=decision_accuracy(found),
        num_counted=num_counted(found),
        by_budget=[(_range(*ends), *of) for ends, of in accuracy_by_budget(found).items()],
        decisions=decisions,
        num_reports=len({one.report for finding in found for one in finding.evidence}),
        folder=reports.name,
        md=markdown_escape,
        shown=shown,
        link=lambda one: _link(reports / one.report / "README.md", out),
        percent=lambda share: f"{100 * share:.0f} %" if share == share else MISSING,
    )


def _link(page: Path, out: Path) -> str:
    return Path(os.path.relpath(page, out.parent)).as_posix()


def _range(low: float, high: float) -> str:
    """A range of tokens in words."""
    if not low:
        return f"below {high / 1e6:g}M"
    return f"from {low / 1e6:g}M" if high == float("inf") else f"{low / 1e6:g}M to {high / 1e6:g}M"


def shown(one: Evidence) -> str:
    """The verdict with the difference, its unit and its interval."""
    verdict = f"{one.verdict} here, {one.alone} in the report" if one.alone else one.verdict
    if one.difference is None or one.low is None or one.high is None:
        return verdict
    unit = "" if one.unit == POINTS else f" {one.unit}"
    figure = f"{verdict}, {amount(one.difference, one.unit)}{unit}"
    if one.low == one.high:
        return f"{figure} (exact)"
    return f"{figure} ({amount(one.low, one.unit)} to {amount(one.high, one.unit)})"
