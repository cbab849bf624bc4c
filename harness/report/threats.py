"""What could make the outcome other than it looks, found in the results themselves."""

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from harness.leaderboard.tables import Table
from harness.report import checks
from harness.report.constants import constant_labels, constant_runs
from harness.report.data import ReportData, Scores
from harness.report.verdict import Pair
from harness.statistics import seed_note

ENOUGH_SEEDS = 10
"""Pretraining seeds an arm from which on their number needs no note."""


def threats(data: ReportData, table: Table, pairs: Sequence[Pair], scores: Scores) -> list[str]:
    """One sentence or two on each threat; then those that the experiment brings along, and what
    was looked for and not found."""
    found = _checked(data, table, scores)
    absent = [name for name, sentences in found.items() if not sentences]
    return [
        *_few_seeds(table),
        *(sentence for sentences in found.values() for sentence in sentences),
        *_many_comparisons(pairs),
        *_approximations(table),
        *data.threats,
        *([f"Looked for, and not found: {', '.join(absent)}."] if absent else []),
    ]


def _checked(data: ReportData, table: Table, scores: Scores) -> dict[str, list[str]]:
    """What was looked for to the sentences on what was found; without what could not be known."""
    found = {
        "missing scores": [*_missing_scores(data, scores)],
        "runs and arms no better than a guess": [
            *checks.no_better_than_a_guess(data, table, scores)
        ],
        "splits with one label": [*_constant_labels(data, table)],
        "runs that always give the same answer": [*_constant_predictions(data, table)],
        "seeds left out": [*checks.excluded_seeds(data)],
    }
    if len(data.runs):
        found |= {"truncated inputs": [*checks.truncated(data)]}
        found |= {"runs that diverged": [*checks.diverged(data)]}
    if len(data.trials):
        found |= {"unequal trials": [*checks.unequal_trials(data)]}
    return found


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
    right = {task for task, _ in constant_labels(data, table)}  # there it is the right answer
    found = Counter(
        (arm, task)
        for arm, task, _ in constant_runs(data, table)
        if task not in right and not checks.guesses(data, arm)
    )
    if found:
        runs = ", ".join(f"{arm} on {task} ({count})" for (arm, task), count in found.items())
        yield (
            "Runs that give every example the same answer, and so learned nothing of the task: "
            f"{runs}."
        )


def _many_comparisons(pairs: Sequence[Pair]) -> Iterator[str]:
    number = sum(found is not None for pair in pairs for found in pair.differences.values())
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
