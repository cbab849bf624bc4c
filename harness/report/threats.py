"""What could make the outcome other than it looks, found in the results themselves."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from harness.leaderboard.tables import Table
from harness.report.constants import constant_labels, constant_runs
from harness.report.data import ReportData
from harness.report.verdict import Pair
from harness.statistics import seed_note

Scores = Mapping[str, Mapping[str, np.ndarray]]
"""Column to arm to the scores of its runs."""
ENOUGH_SEEDS = 10
"""Pretraining seeds an arm from which on their number needs no note."""


def threats(data: ReportData, table: Table, pairs: Sequence[Pair], scores: Scores) -> list[str]:
    """One sentence or two on each threat; those that the experiment brings along come last."""
    return [
        *_few_seeds(table),
        *_missing_scores(data, scores),
        *_constant_labels(data, table),
        *_constant_predictions(data, table),
        *_many_comparisons(table, pairs),
        *_approximations(table),
        *data.threats,
    ]


def _few_seeds(table: Table) -> Iterator[str]:
    seeds = [row.pretrain_seeds for row in table.rows if row.pretrain_seeds]
    if seeds and min(seeds) < ENOUGH_SEEDS:
        yield seed_note(min(seeds))


def _missing_scores(data: ReportData, scores: Scores) -> Iterator[str]:
    """Runs without a score, of all combinations of seeds that any arm has."""
    total = len(data.results[["pretrain_seed", "finetune_seed"]].drop_duplicates())
    for arm in data.arms:
        gaps = {name: total - int(np.isfinite(runs[arm]).sum()) for name, runs in scores.items()}
        missing = [f"{name} ({gap} of {total})" for name, gap in gaps.items() if gap]
        if missing:
            yield (
                f"{arm} lacks scores: {', '.join(missing)}. A run has none if it failed, or if a "
                "correlation is undefined because all its predictions are equal; the latter leaves "
                "its cell empty, the former leaves a mean of fewer runs."
            )


def _constant_labels(data: ReportData, table: Table) -> Iterator[str]:
    found = [f"{task} ({split})" for task, split in constant_labels(data, table)]
    if found:
        yield (
            f"Every example of {', '.join(found)} has the same label: there a constant answer is "
            "right, and the column says nothing of the arms."
        )


def _constant_predictions(data: ReportData, table: Table) -> Iterator[str]:
    found = Counter((arm, task) for arm, task, _ in constant_runs(data, table))
    if found:
        runs = ", ".join(f"{arm} on {task} ({count})" for (arm, task), count in found.items())
        yield (
            "Runs that give every example the same answer, and so learned nothing of the task: "
            f"{runs}."
        )


def _many_comparisons(table: Table, pairs: Sequence[Pair]) -> Iterator[str]:
    number = len(pairs) * (len(table.columns) + 1)
    if len(pairs) > 1:
        yield (
            f"{number} differences are shown with intervals for each alone: about "
            f"{number * 0.05:.1f} would exclude zero by chance if no arms differed. The adjusted p "
            "heeds their number."
        )


def _approximations(table: Table) -> Iterator[str]:
    if any(m.startswith("spearman") for column in table.columns for m in column.metrics):
        yield (
            "Intervals of Spearman correlations resample the ranks of the full dev set instead of "
            "ranking every resample anew."
        )
