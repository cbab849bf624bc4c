"""A study as HTML, for notebooks."""

from harness.analysis.look_power import looks_line
from harness.analysis.power import SeedSpread, power_line
from harness.execution.outlook import Outlook
from harness.leaderboard.render import render
from harness.leaderboard.table import Table
from harness.plan.display import paragraph


def study_html(known: Outlook, spread: SeedSpread | None, table: Table | None) -> str:
    """The plan with its power, expected duration and warnings, and the leaderboard.

    Args:
        spread: between seeds in earlier results; null if unknown.
        table: null as long as there are no scores.
    """
    lines = [power_line(known.plan, spread), looks_line(known.plan), known.estimate.line]
    lines += [f"warning: {line}" for line in known.warnings]
    scores = render(table, "html") if table else paragraph("No scores yet.")
    return "\n".join([known.plan._repr_html_(), *(paragraph(one) for one in lines if one), scores])
