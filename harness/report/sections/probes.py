"""The section on probes: one table per probe."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from harness.analysis.frames.scores import probes_frame
from harness.analysis.results import Results
from harness.leaderboard.cells import MISSING, number_cell
from harness.leaderboard.text_tables import TextTable
from harness.report.layout import Section
from harness.report.pairwise import MANY_ARMS

MANY_ROWS = 20
"""Above this number of rows, the categories of a probe are folded."""
NOTE = (
    "Accuracy x 100 of the pretrained models without fine-tuning, mean over pretraining seeds, "
    "without intervals. Causal language models score a sentence by its log-likelihood, all others "
    "by its pseudo-log-likelihood, under the objective that they were pretrained with. Ties count "
    "as 1/2, or as 1/k among k candidates; overall is the mean over categories."
)


@dataclass(frozen=True)
class ProbeTable:
    """The results of one probe."""

    name: str
    shown: TextTable
    """All categories, or their mean alone if there are many."""
    reasons: Sequence[str]
    """One sentence for each arm without scores."""
    folded: TextTable | None = None
    """All categories, if `shown` has their mean alone."""


def probe_section(results: Results) -> Section | None:
    """One table per probe; many categories are folded under their mean."""
    tables = probe_tables(results.get(probes_frame), results.arms)
    shown = {
        f"{table.name}, mean over categories" if table.folded else table.name: table.shown
        for table in tables
    }
    folded = {f"{table.name}, by category": table.folded for table in tables if table.folded}
    reasons = dict.fromkeys(reason for table in tables for reason in table.reasons)
    return Section("Probes", [NOTE, *reasons], {}, shown, folded) if tables else None


def probe_tables(probes: pd.DataFrame, arms: Sequence[str]) -> list[ProbeTable]:
    """One table per probe.

    Args:
        probes: result of `harness.analysis.frames.scores.probes_frame`.
        arms: names of all arms.
    """
    if probes.empty:
        return []
    return [_table(str(name), rows, arms) for name, rows in probes.groupby("probe", sort=False)]


def _table(name: str, rows: pd.DataFrame, arms: Sequence[str]) -> ProbeTable:
    """Categories by arms, or arms by categories if there are many arms."""
    # A missing seed leaves its cell empty: the others would be a mean of fewer seeds.
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
    failed = rows[rows["unsupported_reason"] != ""].drop_duplicates("arm")
    reasons = [f"{arm}: {why}." for arm, why in failed[["arm", "unsupported_reason"]].to_numpy()]
    whole = TextTable(["category", *arms, "chance", "items"], lines)
    many = len(lines) > MANY_ROWS
    shown = TextTable(whole.head, lines[-1:]) if many else whole
    shown = _transposed(shown) if len(arms) > MANY_ARMS else shown
    return ProbeTable(name, shown, reasons, whole if many else None)


def _transposed(table: TextTable) -> TextTable:
    head, *rows = zip(table.head, *table.rows, strict=True)
    return TextTable(["arm", *head[1:]], [list(row) for row in rows])


def _percent(value: float) -> str:
    return number_cell(100 * value, "{:.1f}")
