"""Differences in held-out pretraining loss between arms."""

from itertools import combinations

import numpy as np
import pandas as pd

from harness.analysis.comparison.differences import LEVEL, enough_seeds, screened
from harness.analysis.frames.runs import pretrain_runs_frame
from harness.analysis.results import Results
from harness.analysis.statistics.bootstrap import Difference
from harness.analysis.statistics.welch import welch_over_seeds
from harness.leaderboard.cells import MISSING
from harness.leaderboard.text_tables import TextTable
from harness.report.difference_tables import nats, p_cell
from harness.report.sections.pretraining import shared_runs
from harness.report.sections.transfer import COMPARABLE, comparable

COLUMNS = ["first", "second", "difference", "low", "high", "p_value", "p_benjamini_hochberg"]
DIFFERENCES = "Differences in held-out loss"
DIFFERENCES_NOTE = (
    f"{DIFFERENCES}, in nats per predicted token (negative: the first is lower), of models with "
    f"{COMPARABLE}. 95 % intervals and p are Welch's over pretraining seeds, without the variance "
    "of the held-out text, which all models share; models with one seed have none. Adjusted p: "
    "Benjamini and Hochberg, among all these differences."
)


def loss_differences(results: Results) -> pd.DataFrame:
    """One row for each two pretraining runs with comparable losses, the first minus the second in
    nats per predicted token: COLUMNS. Interval and p are NaN with fewer than two seeds."""
    runs = results.get(pretrain_runs_frame).dropna(subset="loss")
    losses = {str(arm): own.to_numpy(float) for arm, own in runs.groupby("arm")["loss"]}
    names = {first: name for name, (first, *_) in shared_runs(results).items() if first in losses}
    found = {
        (first, second): welch_over_seeds(losses[first], losses[second], LEVEL)
        for group in comparable(results)
        for first, second in combinations([arm for arm in group if arm in names], 2)
    }
    adjusted = screened(found)
    rows = [
        (*(names[arm] for arm in pair), *_numbers(one), adjusted.get(pair, np.nan))
        for pair, one in found.items()
    ]
    return pd.DataFrame(rows, columns=COLUMNS)


def _numbers(found: Difference) -> tuple[float, ...]:
    """Difference, low, high and p."""
    known = (found.low, found.high, found.p_value)
    return found.estimate, *(known if enough_seeds(found) else (np.nan,) * 3)


def loss_differences_table(results: Results) -> TextTable:
    """`loss_differences` as text."""
    rows = [
        [
            f"{first} − {second}",
            nats(difference),
            MISSING if np.isnan(low) else f"{nats(low)} to {nats(high)}",
            *(p_cell(None if np.isnan(p_value) else p_value) for p_value in p_values),
        ]
        for first, second, difference, low, high, *p_values in loss_differences(results).to_numpy()
    ]
    return TextTable(["arms", "difference", "95 % interval", "p", "adjusted p"], rows)
