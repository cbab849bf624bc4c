"""What arms that learn task after task forget."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from harness.analysis.frames.scores import main_scores, sequential_scores_frame
from harness.analysis.results import Results
from harness.tasks.task import Task


def forgetting_scores(results: Results, tasks: Mapping[str, Task]) -> dict[str, pd.DataFrame]:
    """Arm to the main metric x 100 of each task (rows) after each step (columns), mean over seeds;
    NaN before the task is learned."""
    frame = main_scores(results.get(sequential_scores_frame), tasks)
    found = {arm: frame[frame["arm"] == arm] for arm in results.arms}
    return {arm: _by_step(rows) for arm, rows in found.items() if len(rows)}


def forgetting_by_seed(results: Results, tasks: Mapping[str, Task]) -> dict[str, np.ndarray]:
    """Arm to its average forgetting in points, [num_seeds] pretraining seeds."""
    frame = main_scores(results.get(sequential_scores_frame), tasks)
    found = {}
    for arm, rows in frame.groupby("arm"):
        seeds = rows.groupby("pretrain_seed")
        found[str(arm)] = np.array([average_forgetting(_by_step(own)) for _, own in seeds])
    return found


def _by_step(rows: pd.DataFrame) -> pd.DataFrame:
    """Scores x 100 of one arm by task and step, in the order of learning; NaN if a run has none: a
    mean of the others would leave out those that forgot so much that they predict a constant."""
    values = rows.groupby(["task", "after_task"])["value"]
    means = values.mean(skipna=False).unstack("after_task")
    order = list(dict.fromkeys(rows["after_task"]))
    return 100 * means.reindex(index=order, columns=order)


def average_forgetting(scores: pd.DataFrame) -> float:
    """Mean over all tasks but the last of the best score before the last step minus the last score
    (Chaudhry et al. 2018, section 3.1); NaN for a single task.

    Args:
        scores: one arm's frame of `forgetting_scores`.
    """
    earlier = scores.iloc[:-1]
    drops = earlier.iloc[:, :-1].max(axis=1) - earlier.iloc[:, -1]
    return float(drops.mean(skipna=False)) if len(drops) else np.nan
