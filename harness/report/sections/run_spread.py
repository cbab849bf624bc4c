"""The section with the score of every run."""

from harness.analysis.results import Results
from harness.report.figures.differences import seed_spread
from harness.report.layout import Plot, Section
from harness.report.run_scores import all_run_scores

CAPTION = (
    "Score of every run: one dot per pretraining and fine-tuning seed. The numbers are in "
    "scores.csv."
)


def spread_section(results: Results) -> Section | None:
    """Every run as a dot."""
    svg = seed_spread(results.get(all_run_scores), results.arms)
    return Section("Spread over seeds", plots={"seeds": Plot(svg, CAPTION)}) if svg else None
