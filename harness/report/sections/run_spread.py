"""The section with the score of every run, and the signal and noise of each column."""

from harness.analysis.frames.scores import scores_frame
from harness.analysis.results import Results
from harness.analysis.statistics.signal import Signal
from harness.leaderboard.build import experiment_table
from harness.leaderboard.signals import NOTE, TITLE, column_signals, signal_table
from harness.report.figures.differences import seed_spread
from harness.report.layout import Plot, Section
from harness.report.run_scores import all_run_scores

CAPTION = (
    "Score of every run: one dot per pretraining and fine-tuning seed. The numbers are in "
    "scores.csv."
)


def spread_section(results: Results) -> Section | None:
    """Every run as a dot, and the signal and noise of each column."""
    svg = seed_spread(results.get(all_run_scores), results.arms)
    if not svg:
        return None
    table = signal_table(signals(results))
    return Section(
        "Spread over seeds",
        [NOTE] if table.rows else [],
        {"seeds": Plot(svg, CAPTION)},
        tables={TITLE: table} if table.rows else {},
    )


def signals(results: Results) -> dict[str, Signal]:
    """Column, and the average, to its signal and noise; without those of which they are unknown."""
    return column_signals(results.get(scores_frame), results.get(experiment_table).layout)
