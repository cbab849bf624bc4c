"""Scores of many runs on many tasks in one number or curve (Agarwal et al. 2021, "Deep
reinforcement learning at the edge of the statistical precipice", NeurIPS, section 4)."""

import numpy as np
from scipy.stats import rankdata, trim_mean

from harness.analysis.statistics.bootstrap import Array, check_finite


def interquartile_mean(scores: Array) -> float:
    """Mean of the middle half of all scores [...], runs and tasks together; scores of different
    tasks must be on one scale.

    Raises:
        ValueError: a score is not finite.
    """
    check_finite(scores=scores)
    return float(trim_mean(np.ravel(scores), 0.25))


def probability_of_improvement(first: Array, second: Array) -> float:
    """Chance that a run of the first arm beats one of the second on a task drawn at random, ties
    counting half: the mean over tasks of the Mann-Whitney U over n m.

    Args:
        first, second: [num_runs, num_tasks]; the arms may have different numbers of runs.

    Raises:
        ValueError: other tasks, an arm without runs, or a score that is not finite.
    """
    shaped = first.ndim == second.ndim == 2 and first.shape[1] == second.shape[1]
    if not shaped or not first.size or not second.size:
        raise ValueError(
            "both arms need scores [num_runs, num_tasks] of the same tasks, but got "
            f"{list(first.shape)} and {list(second.shape)}"
        )
    check_finite(first=first, second=second)
    n, m = len(first), len(second)
    ranks = rankdata(np.concatenate([first, second]), axis=0)
    u = ranks[:n].sum(axis=0) - n * (n + 1) / 2
    return float(np.mean(u / (n * m)))


def performance_profile(scores: Array, thresholds: Array) -> Array:
    """[num_thresholds] share of all runs and tasks [...] that score above each threshold.

    Raises:
        ValueError: a score is not finite.
    """
    check_finite(scores=scores)
    return np.mean(np.ravel(scores)[None, :] > np.asarray(thresholds)[:, None], axis=1)
