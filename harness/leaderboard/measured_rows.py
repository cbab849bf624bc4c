"""Rows of measured arms: mean and standard deviation over seeds.

All arms are computed at once, because a store may have a thousand.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from harness.analysis.averages import Term
from harness.analysis.columns import combine
from harness.analysis.seed_scores import SEEDS, run_scores, seed_averages
from harness.analysis.statistics.signal import ROUNDING
from harness.leaderboard.table import Row, Score
from harness.tasks.task import Column


def measured_rows(
    results: pd.DataFrame, arms: Sequence[str], columns: Sequence[Column], terms: Sequence[Term]
) -> list[Row]:
    """The rows of `arms`, in their order, without ranks.

    Args:
        results: as in `build`, with the name of the row in the column `arm`.
    """
    rows = pd.Index(arms)
    runs = {column: run_scores(results, column, ["arm", *SEEDS]) for column in columns}
    # One undefined run makes its cell null: a mean of the others would favour the arm.
    seeds = {c: own.groupby(["arm", "pretrain_seed"]).mean(skipna=False) for c, own in runs.items()}
    means = {
        c: own.groupby("arm").mean(skipna=False).reindex(rows).to_numpy()
        for c, own in seeds.items()
    }
    cells = [_scores(means[c], runs[c], seeds[c], rows) for c in columns]
    whole = seed_averages(seeds, terms)
    averages = _scores(combine(terms, means), whole, whole, rows)
    counts = _num_seeds(results[results["task"].isin([column.task for column in columns])])
    return [
        Row(name, scores, average, None, *counts.get(name, (0, 0)))
        for name, scores, average in zip(arms, zip(*cells, strict=True), averages, strict=True)
    ]


def deterministic_row(row: Row) -> Row:
    """The row of a baseline without its numbers of seeds and its standard deviations, if all its
    runs have equal scores; else the row as it is."""
    scores = [row.average, *row.scores]
    if any(score and score.sd and score.sd > ROUNDING for score in scores):
        return row
    average, *columns = (score and replace(score, sd=None) for score in scores)
    return replace(row, average=average, scores=tuple(columns), deterministic=True)


def _num_seeds(results: pd.DataFrame) -> dict[str, tuple[int, int]]:
    """Arm to its number of pretraining seeds, and the largest number of fine-tuning seeds of one of
    them on a task."""
    pretrain = results.groupby("arm")["pretrain_seed"].nunique()
    finetune = results.groupby(["arm", "task", "pretrain_seed"])["finetune_seed"].nunique()
    most = finetune.groupby("arm").max()
    return {arm: (int(pretrain[arm]), int(most[arm])) for arm in map(str, pretrain.index)}


def _scores(
    means: np.ndarray, spread: pd.Series, seeds: pd.Series, rows: pd.Index
) -> list[Score | None]:
    """The score of each arm; null without a mean.

    Args:
        means: [num_arms].
        spread: values whose sample standard deviation is shown, null for fewer than two.
        seeds: a value for each pretraining seed.
    """
    deviations = spread.groupby("arm").std().reindex(rows).tolist()
    numbers = seeds.groupby("arm").count().reindex(rows, fill_value=0).tolist()
    return [
        Score(mean, None if np.isnan(sd) else sd, seeds=number) if np.isfinite(mean) else None
        for mean, sd, number in zip(means.tolist(), deviations, numbers, strict=True)
    ]
