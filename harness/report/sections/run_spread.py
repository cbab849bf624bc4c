"""The section with the score of every run."""

from harness.analysis.results import Results
from harness.leaderboard.text_tables import TextTable
from harness.report.figures.differences import seed_spread
from harness.report.layout import Plot, Section
from harness.report.run_scores import all_run_scores

CAPTION = "Score of every run: one dot per pretraining and fine-tuning seed."


def spread_section(results: Results) -> Section | None:
    """Every run as a dot, and a folded table of the numbers."""
    scores = results.get(all_run_scores)
    svg = seed_spread(scores, results.arms)
    if svg is None:
        return None
    rows = [
        [column, arm, " ".join(f"{score:.1f}" for score in by_arm[arm])]
        for column, by_arm in scores.items()
        for arm in results.arms
        if len(by_arm[arm])
    ]
    folded = {"Score of every run": TextTable(["column", "arm", "scores x 100"], rows, (0, 1))}
    return Section("Spread over seeds", plots={"seeds": Plot(svg, CAPTION)}, folded=folded)
