"""The section with the score of every run, and the signal and noise of each column."""

from harness.analysis.comparison.differences import dependent_runs
from harness.analysis.frames.scores import scores_frame
from harness.analysis.results import Results
from harness.analysis.statistics.signal import Signal
from harness.leaderboard.build import experiment_table
from harness.leaderboard.signals import (
    NOTE,
    PAIRED_NOTE,
    PARTLY_PAIRED_NOTE,
    TITLE,
    column_signals,
    signal_table,
)
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
    table, notes = signal_table(signals(results)), [NOTE]
    if len(groups := paired_arms(results)) < len(results.arms):
        notes.append(PAIRED_NOTE if len(groups) == 1 else PARTLY_PAIRED_NOTE)
    return Section(
        "Spread over seeds",
        notes if table.rows else [],
        {"seeds": Plot(svg, CAPTION)},
        tables={TITLE: table} if table.rows else {},
    )


def signals(results: Results) -> dict[str, Signal]:
    """Column, and the average, to its signal and noise; without those of which they are unknown."""
    paired = len(paired_arms(results)) == 1
    layout = results.get(experiment_table).layout
    return column_signals(results.get(scores_frame), layout, paired=paired)


def paired_arms(results: Results) -> list[list[str]]:
    """The arms in groups of those whose runs with equal pretraining seeds depend on each other."""
    depend = dependent_runs(results.experiment, results.plan.differences)
    groups: list[list[str]] = []
    for arm in results.arms:
        if group := next((one for one in groups if depend(one[0], arm)), None):
            group.append(arm)
        else:
            groups.append([arm])
    return groups
