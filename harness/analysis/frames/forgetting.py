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
    """Arm to its average forgetting in points, [num_seeds] pretraining seeds; without those that
    have not learned all tasks, which had less to forget."""
    frame = main_scores(results.get(sequential_scores_frame), tasks)
    scores = results.plan.sequential_scores
    partial = {(one.arm, one.pretrain_seed) for one in scores if one.key not in results.finished}
    found: dict[str, list[float]] = {}
    for (arm, seed), own in frame.groupby(["arm", "pretrain_seed"]):
        if (arm, seed) not in partial:
            found.setdefault(str(arm), []).append(average_forgetting(_by_step(own)))
    return {arm: np.array(seeds) for arm, seeds in found.items()}


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
