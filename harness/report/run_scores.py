"""The score of every fine-tuning run, and the average over the suite of each pretraining seed."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from harness.analysis.frames.scores import scores_frame
from harness.analysis.results import Results
from harness.leaderboard.build import build, experiment_table
from harness.leaderboard.measured_rows import run_scores

RunScores = Mapping[str, Mapping[str, np.ndarray]]
"""Column to arm to the scores x 100 of its runs; NaN where a score is undefined."""


def all_run_scores(results: Results) -> RunScores:
    """The scores of all runs in each column of the leaderboard."""
    scores = results.get(scores_frame)
    by_arm = {arm: scores[scores["arm"] == arm] for arm in results.arms}
    return {
        column.name: {arm: run_scores(rows, column).to_numpy() for arm, rows in by_arm.items()}
        for column in results.get(experiment_table).columns
    }


def average_of(results: Results, scores: pd.DataFrame) -> float:
    """Average x 100 of the `scores` of one arm and pretraining seed; NaN if a score is missing."""
    table = build(scores, results.suite, tasks=results.experiment.evaluate.tasks)
    average = table.rows[0].average
    return average.mean if average else np.nan


def seed_averages(results: Results) -> pd.DataFrame:
    """Columns arm, pretrain_seed, average (x 100)."""
    groups: Any = results.get(scores_frame).groupby(["arm", "pretrain_seed"], sort=False)
    rows = [(*seed, average_of(results, scores)) for seed, scores in groups]
    return pd.DataFrame(rows, columns=["arm", "pretrain_seed", "average"])
