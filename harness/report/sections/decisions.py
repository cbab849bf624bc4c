"""Whether smaller budgets, or other levels of an axis, lead to the same decisions between arms."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from harness.analysis.results import Results
from harness.analysis.statistics.decisions import Decisions, decisions
from harness.experiment.arms import choices
from harness.leaderboard.cells import MISSING
from harness.leaderboard.text_tables import TextTable
from harness.report.layout import Section
from harness.report.ordered_axes import is_ordered
from harness.report.run_scores import averages_by_arm, seed_averages
from harness.report.sections.curves import learning_points

CHECKPOINTS = "share of the updates"
"""What checkpoints of one run lie along."""
NOTE = (
    "Of all pairs of the other arms, how many the averages order alike at a level of an axis, or "
    "after a part of the updates, and at the last level (decision accuracy, Magnusson et al. "
    "2025), with a 95 % interval as if pairs were independent; they share arms, so the true one "
    "is wider. Pairs that differ: those whose difference at the last level has a 95 % interval "
    "without zero, over pretraining seeds. One seed: the share of pairs that a single seed orders "
    "as the other seeds do at the last level."
)
HEAD = [
    *("along", "level", "of", "pairs", "ordered alike", "95 % interval"),
    *("ordered alike of those that differ", "ordered alike by one seed"),
]
COLUMNS = ["along", "level", "of", "pairs", "alike", "settled", "settled_alike", "one_seed"]

Scores = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class LevelDecisions:
    """The decisions at a level beside those at the last one."""

    along: str
    """An axis, or CHECKPOINTS."""
    level: str
    of: str
    """The last level."""
    found: Decisions


def decision_section(results: Results) -> Section | None:
    """The table of decisions; null without two arms at two levels."""
    rows = [_row(one) for one in results.get(level_decisions)]
    table = {"": TextTable(HEAD, rows)}
    return Section("Decisions along the axes", [NOTE], tables=table) if rows else None


def decisions_frame(results: Results) -> pd.DataFrame:
    """COLUMNS for each level but the last."""
    rows = [
        (one.along, one.level, one.of, *(getattr(one.found, name) for name in COLUMNS[3:]))
        for one in results.get(level_decisions)
    ]
    return pd.DataFrame(rows, columns=COLUMNS)


def level_decisions(results: Results) -> list[LevelDecisions]:
    """Each level but the last, of the checkpoints and of every ordered axis. Its pairs are of arms,
    which their labels on the other axes identify."""
    rows = []
    for along, levels in _levels(results):
        *smaller, last = levels
        rows += [
            LevelDecisions(along, level, last, found)
            for level in smaller
            if (found := decisions(levels[level], levels[last]))
        ]
    return rows


def _levels(results: Results) -> Iterator[tuple[str, Mapping[str, Scores]]]:
    """What the levels lie along (the share of the updates, or an axis of larger and larger values),
    and level to arm to the averages of its seeds; the last level is the one to compare with."""
    shares = results.get(learning_points)
    if len(shares):
        groups: Any = shares.groupby("pretrain_fraction")
        yield CHECKPOINTS, {f"{share:.3g}": averages_by_arm(points) for share, points in groups}
    ends = results.get(seed_averages)
    for axis, values in results.experiment.grid.items():
        labels = [label for label, _ in choices(axis, values)]
        if not is_ordered(labels):
            continue
        found: dict[str, dict[str, np.ndarray]] = {label: {} for label in labels}
        scores = averages_by_arm(ends)
        for arm in results.plan.arms:
            others = "/".join(label for of, label in arm.labels.items() if of != axis)
            if arm.name in scores:
                found[arm.labels[axis]][others] = scores[arm.name]
        if len(known := {label: arms for label, arms in found.items() if arms}) > 1:
            yield axis, known


def _row(one: LevelDecisions) -> list[str]:
    found, (low, high) = one.found, one.found.interval
    return [
        *(one.along, one.level, one.of, str(found.pairs)),
        f"{found.alike} ({100 * found.accuracy:.0f} %)",
        f"{100 * low:.0f} to {100 * high:.0f} %",
        f"{found.settled_alike} of {found.settled}",
        MISSING if np.isnan(found.one_seed) else f"{100 * found.one_seed:.0f} %",
    ]
