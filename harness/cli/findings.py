"""`harness findings`: the claims of the literature beside the verdicts of reports."""

from pathlib import Path
from typing import Annotated

import typer

from harness.cli import options


def findings(
    reports: Annotated[
        Path, typer.Argument(help="folder of reports, each with its verdicts.csv")
    ] = Path("reports"),
    out: Annotated[Path, typer.Option("--out", help="file of the board, .md and .html")] = Path(
        "findings.md"
    ),
) -> None:
    """Writes which claims of the literature reports confirm. The board says by how much and where,
    as markdown and as a page with filters. Computes nothing."""
    from harness.core.files import write_atomically
    from harness.leaderboard.published_relations import published_relations
    from harness.report.findings.board import counts, read_evidence
    from harness.report.findings.board import findings as found_in
    from harness.report.findings.decisions import read_decisions
    from harness.report.findings.html import page
    from harness.report.findings.markdown import board

    with options.clear_errors():
        options.require(reports.is_dir(), f"there is no folder {reports}; name that of the reports")
        options.make_folder_of(out, "--out")
        stem = out.with_suffix("") if out.suffix in (".md", ".html") else out
        text, web = (stem.with_name(f"{stem.name}{ending}") for ending in (".md", ".html"))
        evidence = read_evidence(reports)
        options.require(bool(evidence), f"no report below {reports} has a verdicts.csv")
        found = found_in(evidence, published_relations())
        decisions = read_decisions(reports)
        write_atomically(text, board(found, reports, text, decisions))
        write_atomically(web, page(found, reports, web, decisions))
        numbers = ", ".join(f"{number} {word}" for word, number in counts(found).items() if number)
        options.out.print(f"{text}: {numbers}")
        options.out.print(f"{web}: the same with filters and figures")
