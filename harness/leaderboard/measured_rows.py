"""Rows of measured arms: mean and standard deviation over seeds.

All arms are computed at once, because a store may have a thousand.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from harness.analysis.averages import Term
from harness.analysis.columns import combine
from harness.leaderboard.table import Row, Score
from harness.models import FAMILIES
from harness.tasks.task import Column

SEEDS = ["pretrain_seed", "finetune_seed"]
ROUNDING = 1e-9
"""Standard deviations of equal scores may be as large, by how numbers are summed."""


def run_scores(results: pd.DataFrame, column: Column, by: Sequence[str] = SEEDS) -> pd.Series:
    """Score x 100 of each run in a column, indexed by `by`. Several metrics are averaged; NaN if
    one of them is undefined.

    Args:
        by: columns that identify a run; of one arm, its seeds.
    """
    here = (results["task"] == column.task) & (results["split"] == column.split)
    runs = results[here & results["metric"].isin(column.metrics)]
    wide = runs.set_index([*by, "metric"])["value"].astype(float).unstack("metric")
    return 100 * wide.reindex(columns=list(column.metrics)).mean(axis=1, skipna=False)


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
    cells = [_scores(means[c], _spreads(runs[c], rows)) for c in columns]
    averages = _scores(combine(terms, means), _spreads(_seed_averages(seeds, terms), rows))
    counts = _num_seeds(results)
    return [
        Row(name, scores, average, None, *counts.get(name, (0, 0)))
        for name, scores, average in zip(arms, zip(*cells, strict=True), averages, strict=True)
    ]


def is_baseline(family: str) -> bool:
    """Whether models of a family are baselines without pretraining and without randomness."""
    return family in FAMILIES and FAMILIES[family].kind == "baseline"


def deterministic_row(row: Row) -> Row:
    """The row of a baseline without its numbers of seeds and its standard deviations, if all its
    runs have equal scores; else the row as it is."""
    scores = [row.average, *row.scores]
    if any(score and score.sd and score.sd > ROUNDING for score in scores):
        return row
    average, *columns = (score and replace(score, sd=None) for score in scores)
    return replace(row, average=average, scores=tuple(columns), deterministic=True)


def _spreads(scores: pd.Series, rows: pd.Index) -> np.ndarray:
    """Sample standard deviation of each arm's scores; NaN for fewer than two."""
    return np.asarray(scores.groupby("arm").std().reindex(rows))


def _seed_averages(seeds: Mapping[Column, pd.Series], terms: Sequence[Term]) -> pd.Series:
    """The average of each arm and pretraining seed that has all its columns."""
    taken = list(dict.fromkeys(column for term in terms for column in term))
    wide = pd.concat([seeds[column] for column in taken], axis=1).dropna()
    columns = dict(zip(taken, wide.to_numpy().T, strict=True))
    return pd.Series(combine(terms, columns), wide.index)


def _num_seeds(results: pd.DataFrame) -> dict[str, tuple[int, int]]:
    """Arm to its number of pretraining seeds, and the largest number of fine-tuning seeds of one of
    them on a task."""
    pretrain = results.groupby("arm")["pretrain_seed"].nunique()
    finetune = results.groupby(["arm", "task", "pretrain_seed"])["finetune_seed"].nunique()
    most = finetune.groupby("arm").max()
    return {arm: (int(pretrain[arm]), int(most[arm])) for arm in map(str, pretrain.index)}


def _scores(means: np.ndarray, spreads: np.ndarray) -> list[Score | None]:
    """The score of each arm; null without a mean."""
    return [
        Score(mean, None if np.isnan(sd) else sd) if np.isfinite(mean) else None
        for mean, sd in zip(means.tolist(), spreads.tolist(), strict=True)
    ]
