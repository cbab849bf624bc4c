"""`harness findings`: the claims of the literature beside the verdicts of reports."""

from pathlib import Path
from typing import Annotated

import typer

from harness.cli import options


def findings(
    reports: Annotated[
        Path, typer.Argument(help="folder of reports, each with its verdicts.csv")
    ] = Path("reports"),
    out: Annotated[Path, typer.Option("--out", help="file of the board")] = Path("findings.md"),
) -> None:
    """Writes the board of findings: each claim of the literature, whether the reports confirm it,
    by how much, and where. Computes nothing."""
    from harness.core.files import write_atomically
    from harness.leaderboard.published_relations import published_relations
    from harness.report.findings.board import counts, read_evidence
    from harness.report.findings.board import findings as found_in
    from harness.report.findings.decisions import read_decisions
    from harness.report.findings.page import board

    with options.clear_errors():
        options.require(reports.is_dir(), f"there is no folder {reports}; name that of the reports")
        evidence = read_evidence(reports)
        options.require(bool(evidence), f"no report below {reports} has a verdicts.csv")
        found = found_in(evidence, published_relations())
        write_atomically(out, board(found, reports, out, read_decisions(reports)))
        numbers = ", ".join(f"{number} {word}" for word, number in counts(found).items() if number)
        options.out.print(f"{out}: {numbers}", markup=False)
