"""Differences in held-out pretraining loss between arms."""

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
import pandas as pd

from harness.analysis.comparison.differences import LEVEL, enough_seeds, screened
from harness.analysis.comparison.seed_scores import compared_by_seeds
from harness.analysis.frames.runs import pretrain_runs_frame
from harness.analysis.results import Results
from harness.analysis.statistics.bootstrap import Difference
from harness.experiment.outcomes import Loss
from harness.leaderboard.cells import MISSING
from harness.leaderboard.text_tables import TextTable
from harness.report.difference_tables import nats, p_cell
from harness.report.sections.pretraining import shared_runs
from harness.report.sections.transfer import COMPARABLE, comparable

COLUMNS = ["first", "second", "difference", "low", "high", "p_value", "p_benjamini_hochberg"]
DIFFERENCES = "Differences in held-out loss"
BITS_DIFFERENCES = "Differences in held-out bits per byte"
SHARED_TEXT = "without the variance of the held-out text, which all models share"
OWN_TEXTS = "each with the held-out text of its world"
BITS_NOTE = (
    f"{BITS_DIFFERENCES}, in the same way, of left-to-right models with the same held-out text "
    "whose losses in nats cannot be compared, because their vocabularies differ."
)


def differences_note(results: Results) -> str:
    """What the differences in nats are of, and what their intervals hold."""
    texts = OWN_TEXTS if results.experiment.seeds.in_worlds else SHARED_TEXT
    return (
        f"{DIFFERENCES}, in nats per predicted token (negative: the first is lower), of models "
        f"with {COMPARABLE}. 95 % intervals and p are Welch's over pretraining seeds, {texts}; "
        "models with one seed have none. Adjusted p: Benjamini and Hochberg, among all these "
        "differences."
    )


def loss_differences(results: Results, outcome: Loss = "loss") -> pd.DataFrame:
    """One row for each two pretraining runs with comparable losses, the first minus the second:
    COLUMNS. Interval and p are NaN with fewer than two seeds.

    Args:
        outcome: `loss`, in nats per predicted token; `bits_per_byte` for runs that cannot be
            compared by `loss`.
    """
    runs = results.get(pretrain_runs_frame).dropna(subset=outcome)
    losses = {str(arm): own.to_numpy(float) for arm, own in runs.groupby("arm")[outcome]}
    names = {first: name for name, (first, *_) in shared_runs(results).items() if first in losses}
    known = {arm: losses[arm] for arm in names}
    found = _compared(comparable(results), known)
    if outcome == "bits_per_byte":
        by_byte = _compared(comparable(results, by_byte=True), known)
        found = {pair: one for pair, one in by_byte.items() if pair not in found}
    adjusted = screened(found)
    rows = [
        (*(names[arm] for arm in pair), *_numbers(one), adjusted.get(pair, np.nan))
        for pair, one in found.items()
    ]
    return pd.DataFrame(rows, columns=COLUMNS)


def _compared(
    groups: Sequence[Sequence[str]], losses: Mapping[str, np.ndarray]
) -> dict[tuple[str, str], Difference]:
    """All pairs of arms of a group to their difference.

    Args:
        losses: arm to [num_seeds].
    """
    found: dict[tuple[str, str], Difference] = {}
    for group in groups:
        own = {arm: losses[arm] for arm in group if arm in losses}
        compared = compared_by_seeds(own, LEVEL)
        found |= {
            (one, other): compared({one: 1, other: -1}) for one, other in combinations(own, 2)
        }
    return found


def _numbers(found: Difference) -> tuple[float, ...]:
    """Difference, low, high and p."""
    known = (found.low, found.high, found.p_value)
    return found.estimate, *(known if enough_seeds(found) else (np.nan,) * 3)


def loss_differences_table(results: Results, outcome: Loss = "loss") -> TextTable:
    """`loss_differences` as text."""
    differences = loss_differences(results, outcome)
    rows = [
        [
            f"{first} − {second}",
            nats(difference),
            MISSING if np.isnan(low) else f"{nats(low)} to {nats(high)}",
            *(p_cell(None if np.isnan(p_value) else p_value) for p_value in p_values),
        ]
        for first, second, difference, low, high, *p_values in differences.to_numpy()
    ]
    return TextTable(["arms", "difference", "95 % interval", "p", "adjusted p"], rows)
