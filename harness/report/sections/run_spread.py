"""The section with the score of every run, and the signal and noise of each column."""

from harness.analysis.comparison.differences import dependent_runs
from harness.analysis.frames.scores import scores_frame
from harness.analysis.results import Results
from harness.analysis.statistics.signal import Signal
from harness.leaderboard.build import experiment_table
from harness.leaderboard.signals import (
    BASELINES_NOTE,
    NOTE,
    PAIRED_NOTE,
    PARTLY_PAIRED_NOTE,
    TITLE,
    column_signals,
    signal_table,
)
from harness.models import is_baseline
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
    arms = without_baselines(results)
    if len(arms) < len(results.arms):
        notes.append(BASELINES_NOTE)
    if len(groups := paired_arms(results)) < len(arms):
        notes.append(PAIRED_NOTE if len(groups) == 1 else PARTLY_PAIRED_NOTE)
    return Section(
        "Spread over seeds",
        notes if table.rows else [],
        {"seeds": Plot(svg, CAPTION)},
        tables={TITLE: table} if table.rows else {},
    )


def signals(results: Results) -> dict[str, Signal]:
    """Column, and the average, to its signal and noise; without those of which they are unknown.
    Baselines without random numbers have no noise, and would make that of the others smaller."""
    paired = len(paired_arms(results)) == 1
    layout = results.get(experiment_table).layout
    scores = results.get(scores_frame)
    kept = scores[scores["arm"].isin(without_baselines(results))]
    return column_signals(kept, layout, paired=paired) if len(kept) else {}


def without_baselines(results: Results) -> list[str]:
    """The arms that are no baselines."""
    arms = results.plan.arms
    return [arm.name for arm in arms if not is_baseline(arm.pretrain.model.family)]


def paired_arms(results: Results) -> list[list[str]]:
    """The arms but baselines, in groups of those whose runs with equal pretraining seeds depend on
    each other."""
    depend = dependent_runs(results.experiment, results.plan.differences)
    groups: list[list[str]] = []
    for arm in without_baselines(results):
        if group := next((one for one in groups if depend(one[0], arm)), None):
            group.append(arm)
        else:
            groups.append([arm])
    return groups
