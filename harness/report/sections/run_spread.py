"""The section with the score of every run, and the signal and noise of each column."""

from harness.analysis.frames.scores import scores_frame
from harness.analysis.results import Results
from harness.analysis.statistics.signal import Signal, signal_and_noise
from harness.leaderboard.build import experiment_table
from harness.leaderboard.cells import MISSING
from harness.leaderboard.measured_rows import run_scores
from harness.leaderboard.text_tables import TextTable
from harness.report.figures.differences import seed_spread
from harness.report.layout import Plot, Section
from harness.report.run_scores import all_run_scores, seed_averages

CAPTION = (
    "Score of every run: one dot per pretraining and fine-tuning seed. The numbers are in "
    "scores.csv."
)
SIGNAL = "Signal and noise of each column"
NOTE = (
    "Signal is the largest difference between the means of two arms, noise the standard deviation "
    "between the pretraining seeds of an arm, pooled over arms (after Heineman et al. 2025). Arms "
    "without any difference show a signal by their noise alone, whose expected size stands beside "
    "it; p is of a one-way analysis of variance. A column with a large p separates no arms here."
)


def spread_section(results: Results) -> Section | None:
    """Every run as a dot, and the signal and noise of each column."""
    svg = seed_spread(results.get(all_run_scores), results.arms)
    if not svg:
        return None
    table = signal_table(results)
    return Section(
        "Spread over seeds",
        [NOTE] if table.rows else [],
        {"seeds": Plot(svg, CAPTION)},
        tables={SIGNAL: table} if table.rows else {},
    )


def signals(results: Results) -> dict[str, Signal]:
    """Column, and the average, to its signal and noise; without those of which they are unknown."""
    scores, averages = results.get(scores_frame), seed_averages(results)
    found = {
        column.name: [
            run_scores(rows, column).groupby("pretrain_seed").mean().to_numpy()
            for _, rows in scores.groupby("arm", sort=False)
        ]
        for column in results.get(experiment_table).columns
    }
    if len(found) > 1:
        by_arm = averages.groupby("arm", sort=False)["average"]
        found["average"] = [one.to_numpy(float) for _, one in by_arm]
    known = {name: signal_and_noise(arms) for name, arms in found.items()}
    return {name: signal for name, signal in known.items() if signal}


def signal_table(results: Results) -> TextTable:
    """The columns from the one with the largest ratio to that with the smallest."""
    found = sorted(signals(results).items(), key=lambda one: -one[1].ratio)
    rows = [
        [
            name,
            *(f"{value:.1f}" for value in (one.signal, one.noise)),
            f"{one.ratio:.1f}" if one.noise else MISSING,
            f"{one.without:.1f}",
            MISSING if one.p != one.p else "< 0.001" if one.p < 0.001 else f"{one.p:.3f}",
        ]
        for name, one in found
    ]
    head = ["column", "signal", "noise", "signal / noise", "signal without a difference", "p"]
    return TextTable(head, rows)
