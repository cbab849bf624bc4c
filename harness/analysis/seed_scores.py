"""Scores x 100 of runs and of pretraining seeds in the columns of a suite."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from harness.analysis.averages import Term
from harness.analysis.columns import combine
from harness.analysis.statistics.bootstrap import Array
from harness.tasks.task import Column

SEEDS = ["pretrain_seed", "finetune_seed"]


def distinct_runs(results: pd.DataFrame, by: Sequence[str] = ()) -> pd.DataFrame:
    """Scores without repetitions: a run that several arms share counts for the first of them, as
    one whose equal scores would look like those of an independent run.

    Args:
        by: columns that keep runs apart, such as `experiment`.
    """
    return results.drop_duplicates([*by, "task", "split", "metric", "key"])


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


def seed_scores(results: pd.DataFrame, column: Column, by: Sequence[str] = ("arm",)) -> pd.Series:
    """Score x 100 of each pretraining seed in a column, the mean over its fine-tuning runs, indexed
    by `by` and `pretrain_seed`. One undefined run makes it NaN.

    Args:
        by: columns that identify an arm.
    """
    runs = run_scores(results, column, [*by, *SEEDS])
    return runs.groupby([*by, "pretrain_seed"]).mean(skipna=False)


def seed_averages(seeds: Mapping[Column, pd.Series], terms: Sequence[Term]) -> pd.Series:
    """The average of each arm and pretraining seed that has all its columns.

    Args:
        seeds: column to the result of `seed_scores`.
    """
    taken = list(dict.fromkeys(column for term in terms for column in term))
    wide = pd.concat([seeds[column] for column in taken], axis=1).dropna()
    columns = dict(zip(taken, wide.to_numpy().T, strict=True))
    return pd.Series(combine(terms, columns), wide.index)


def scores_of_arms(seeds: pd.Series, least: int = 1) -> dict[tuple[str, ...], Array]:
    """Arm to its known scores [num_seeds], of the arms with at least so many.

    Args:
        seeds: result of `seed_scores` or `seed_averages`; what stands before the pretraining seed
            in its index is the arm.
    """
    known = seeds.dropna()
    found: dict[tuple[str, ...], list[float]] = {}
    for place, score in zip(known.index.tolist(), known.tolist(), strict=True):
        found.setdefault(place[:-1], []).append(score)
    return {arm: np.array(scores) for arm, scores in found.items() if len(scores) >= least}


def have_same_seeds(seeds: pd.Series) -> bool:
    """Whether all arms with a known score have one of the same pretraining seeds.

    Args:
        seeds: as for `scores_of_arms`.
    """
    return bool(seeds.dropna().unstack("pretrain_seed").notna().all(axis=None))
