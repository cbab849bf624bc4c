"""The signal and noise of the columns of a table, and the table that shows them."""

from collections.abc import Collection, Mapping

import pandas as pd

from harness.analysis.columns import SuiteColumns
from harness.analysis.seed_scores import (
    distinct_runs,
    have_same_seeds,
    scores_of_arms,
    seed_averages,
    seed_scores,
)
from harness.analysis.statistics.signal import Signal, signal_and_noise
from harness.leaderboard.cells import MISSING
from harness.leaderboard.table import Table
from harness.leaderboard.text_tables import TextTable

TITLE = "Signal and noise of each column"
NOTE = (
    "Signal is the largest difference between the means of two arms, noise the standard deviation "
    "between the pretraining seeds of an arm, pooled over arms (after Heineman et al. 2025). Arms "
    "without any difference show a signal by their noise alone, whose expected size stands beside "
    "it; p is of an analysis of variance. A column with a large p separates no arms here."
)
BASELINES_NOTE = "Baselines are left out."
BOARD_NOTE = (
    "The arms are the measured rows with two pretraining seeds or more in a column. Baselines, "
    "imported and published rows are left out; runs that several rows share count once. Rows count "
    "as independent, also those with the same checkpoints, whose differences may be clear where p "
    "is large. Signals of columns with different rows are not comparable."
)
PAIRED_NOTE = (
    "The arms of a seed depend on each other, so noise and p leave out what a seed does to all of "
    "them, as the differences do, in columns in which all arms have the same seeds."
)
PARTLY_PAIRED_NOTE = (
    "Arms with the same checkpoints are compared seed by seed in the differences, but not here, "
    "beside arms with others: they may differ clearly where p is large."
)
AVERAGE = "average"


def column_signals(
    results: pd.DataFrame, layout: SuiteColumns, least: int = 1, paired: bool = False
) -> dict[str, Signal]:
    """Column, and the average beside several, to its signal and noise; without those of which they
    are unknown.

    Args:
        results: scores as in `build`, with the name of the row in the column `arm`.
        least: number of pretraining seeds below which an arm is left out of a column.
        paired: whether all arms of a seed depend on each other.
    """
    runs = distinct_runs(results)
    seeds = {column: seed_scores(runs, column) for column in layout.columns}
    named = {column.name: scores for column, scores in seeds.items()}
    if len(seeds) > 1:
        # An arm that shares the runs of some columns has an average of its own.
        own = results[results["arm"].isin(runs["arm"])]
        whole = {column: seed_scores(own, column) for column in layout.columns}
        named[AVERAGE] = seed_averages(whole, layout.terms)
    arms = {name: [*scores_of_arms(scores, least).values()] for name, scores in named.items()}
    known = {
        name: signal_and_noise(scores, paired and have_same_seeds(named[name]))
        for name, scores in arms.items()
    }
    return {name: signal for name, signal in known.items() if signal}


def board_signals(
    results: pd.DataFrame, table: Table, baselines: Collection[str]
) -> dict[str, Signal]:
    """The signals of a board over its measured rows with two pretraining seeds or more.

    Args:
        results: as for `column_signals`.
        baselines: rows of models without randomness, which are left out.
    """
    several = {row.name for row in table.rows if row.pretrain_seeds > 1}
    kept = results[results["arm"].isin(several.difference(baselines))]
    return column_signals(kept, table.layout, least=2) if len(kept) else {}


def signal_table(found: Mapping[str, Signal]) -> TextTable:
    """The columns from the one with the largest ratio to that with the smallest."""
    order = sorted(found.items(), key=lambda one: -one[1].ratio)
    head = ["column", "signal", "noise", "signal / noise", "signal without a difference", "p"]
    return TextTable(head, [[name, *_cells(one)] for name, one in order], title=TITLE, notes=[NOTE])


def board_signal_table(table: Table) -> TextTable | None:
    """The signals of the columns that a board shows, with the number of rows behind each; null if
    none is known."""
    shown = {*(column.name for column in table.columns), AVERAGE}
    found = {name: one for name, one in table.signals.items() if name in shown}
    if not found:
        return None
    whole = signal_table(found)
    rows = [[*row, str(found[row[0]].num_arms)] for row in whole.rows]
    return TextTable([*whole.head, "rows"], rows, title=TITLE, notes=[NOTE, BOARD_NOTE])


def _cells(one: Signal) -> list[str]:
    """Signal, noise, their ratio, the signal without a difference, and p."""
    p = MISSING if one.p != one.p else "< 0.001" if one.p < 0.001 else f"{one.p:.3f}"
    ratio = f"{one.ratio:.1f}" if one.noise else MISSING
    return [f"{one.signal:.1f}", f"{one.noise:.1f}", ratio, f"{one.without:.1f}", p]
