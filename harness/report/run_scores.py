"""The score of every fine-tuning run, and the average over the suite of each pretraining seed."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from harness.analysis.frames.scores import scores_frame
from harness.analysis.results import Results
from harness.analysis.seed_scores import SEEDS, run_scores
from harness.leaderboard.build import build, experiment_table
from harness.leaderboard.table import Row

RunScores = Mapping[str, Mapping[str, np.ndarray]]
"""Column to arm to the scores x 100 of its runs; NaN where a score is undefined."""


def all_run_scores(results: Results) -> RunScores:
    """The scores of all runs in each column of the leaderboard."""
    scores = results.get(scores_frame)
    found = {}
    for column in results.get(experiment_table).columns:
        runs = run_scores(scores, column, ["arm", *SEEDS])
        by_arm = dict(iter(runs.groupby(level="arm")))
        found[column.name] = {
            arm: by_arm[arm].to_numpy() if arm in by_arm else np.empty(0) for arm in results.arms
        }
    return found


def averages(results: Results, scores: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """The columns `by`, and the average x 100 of each of their combinations, in the order of
    `scores`; NaN if a score is missing.

    Args:
        by: columns of `scores`; one combination has scores of one arm and pretraining seed.
    """
    if scores.empty:
        return pd.DataFrame(columns=[*by, "average"])
    keys, rows = rows_by(results, scores, by)
    return keys.assign(average=[row.average.mean if row.average else np.nan for row in rows])


def rows_by(
    results: Results, scores: pd.DataFrame, by: Sequence[str]
) -> tuple[pd.DataFrame, list[Row]]:
    """The columns `by`, one row for each of their combinations in `scores`, and its row of the
    leaderboard. They are the rows of one table: a table for each would take many times as long.

    Args:
        by: as for `averages`.
    """
    groups = scores.groupby(list(by), sort=False)
    named = scores.assign(arm=groups.ngroup().astype(str))
    table = build(named, results.suite, tasks=results.experiment.evaluate.tasks)
    rows = {row.name: row for row in table.rows}
    keys = groups.size().index.to_frame(index=False)
    return keys, [rows[str(number)] for number in range(len(keys))]


def seed_averages(results: Results) -> pd.DataFrame:
    """Columns arm, pretrain_seed, average (x 100)."""
    return averages(results, results.get(scores_frame), ["arm", "pretrain_seed"])


def averages_by_arm(averages: pd.DataFrame) -> dict[str, np.ndarray]:
    """Arm to its averages [num_seeds], the pretraining seeds in one order for all arms; without
    arms that lack a seed that another has.

    Args:
        averages: columns arm, pretrain_seed, average.
    """
    by_seed = averages.pivot(index="pretrain_seed", columns="arm", values="average")
    complete = by_seed.dropna(axis="columns").astype(float)
    return {str(arm): complete[arm].to_numpy() for arm in complete}
