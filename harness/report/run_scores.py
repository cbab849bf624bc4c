"""The score of every fine-tuning run, by column and arm."""

from collections.abc import Mapping

import numpy as np

from harness.analysis.frames.scores import scores_frame
from harness.analysis.results import Results
from harness.leaderboard.experiment_table import experiment_table
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
