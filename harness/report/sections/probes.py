"""Probes in the report: a table for each, categories by arms."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from harness.leaderboard.cells import MISSING
from harness.leaderboard.text_tables import TextTable
from harness.report.verdict import MANY_ARMS

LONG = 20
"""Lines of a probe, of categories and of all, above which only that of all is shown at once."""
PROBE_NOTE = (
    "Accuracy x 100 of the pretrained models as they are, mean over pretraining seeds, without "
    "intervals. Every sentence is scored in the form that the model was trained on: by its "
    "log-likelihood where tokens are told from left to right, else by its pseudo-log-likelihood. "
    "Ties count half, or 1/k among k candidates; overall is the mean of the categories."
)


@dataclass(frozen=True)
class ProbeTable:
    """What is shown of one probe."""

    name: str
    grid: TextTable
    """What is shown at once."""
    reasons: Sequence[str]
    """Why an arm has no scores, one sentence each."""
    folded: TextTable | None = None
    """All categories, where `grid` has their mean alone."""


def probe_tables(probes: pd.DataFrame, arms: Sequence[str]) -> list[ProbeTable]:
    """A table for each probe in `probes`, rows of arm, probe, category, pretrain_seed, score,
    chance, items and obstacle; without any if there are none."""
    if probes.empty:
        return []
    return [_table(str(name), rows, arms) for name, rows in probes.groupby("probe", sort=False)]


def _table(name: str, rows: pd.DataFrame, arms: Sequence[str]) -> ProbeTable:
    """Categories by arms; of many arms, arms by categories. Of many categories their mean, and all
    of them folded, as they are: a column for each would be wider than any page."""
    # A null seed makes its cell null: a mean of the others would be of another number of seeds.
    scores = rows.groupby(["category", "arm"], sort=False)["score"].agg(
        lambda seeds: seeds.mean(skipna=False)
    )
    known = rows.groupby("category", sort=False)[["chance", "items"]].max()
    lines = [
        [
            str(category),
            *(_percent(float(scores.get((category, arm), np.nan))) for arm in arms),
            _percent(float(chance)),
            f"{items:,.0f}" if items else MISSING,
        ]
        for category, chance, items in known.itertuples(name=None)
    ]
    stopped = rows[rows["unsupported_reason"] != ""].drop_duplicates("arm")
    reasons = [
        f"{arm}: {why}."
        for arm, why in zip(stopped["arm"], stopped["unsupported_reason"], strict=True)
    ]
    whole = TextTable(["category", *arms, "chance", "items"], lines)
    long = len(lines) > LONG
    shown = TextTable(whole.head, lines[-1:]) if long else whole
    turned = _turned(shown) if len(arms) > MANY_ARMS else shown
    return ProbeTable(name, turned, reasons, whole if long else None)


def _turned(grid: TextTable) -> TextTable:
    head, *rows = zip(grid.head, *grid.rows, strict=True)
    return TextTable(["arm", *head[1:]], [list(row) for row in rows])


def _percent(value: float) -> str:
    return MISSING if np.isnan(value) else f"{100 * value:.1f}"
