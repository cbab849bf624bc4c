"""Trials of the hyperparameter search."""

import numpy as np
import pandas as pd

from harness.analysis.results import Results
from harness.finetuning.search.trials import WORST
from harness.plan.search_stages import ALL_TASKS

TRIAL_COLUMNS = ["arm", "task", "pretrain_seed", "trial", "value", "state", "seconds", "epochs_run"]


def trials_frame(results: Results) -> pd.DataFrame:
    """One row per arm, task and trial of a finished search: TRIAL_COLUMNS and the hyperparameters.

    `task` is ALL_TASKS where one network for all is searched. `pretrain_seed` is that of the
    searched network; with one search, the first. A hyperparameter of other adaptations than the
    trial's is NaN. `value` is the hold-out score, of ALL_TASKS the mean over tasks; NaN if the
    trial diverged or its metric is undefined. `state` is complete, diverged, undefined or pruned; a
    pruned trial has the score of epoch `epochs_run`, after which it ended. `seconds` is the time of
    its fine-tuning.
    """
    plan = results.plan
    searches: dict[tuple[str, str, str], int] = {}
    for run in plan.finetune_runs:
        if key := plan.stages[run.key].parents.get("tune"):
            task = ALL_TASKS if "tasks" in plan.stages[key].spec else run.task
            searches.setdefault((run.arm, task, key), run.pretrain_seed)
    frames = [
        pd.read_csv(results.files(key) / "trials.csv").assign(
            arm=arm, task=task, pretrain_seed=seed
        )
        for (arm, task, key), seed in searches.items()
        if key in results.finished
    ]
    if not frames:
        return pd.DataFrame(columns=TRIAL_COLUMNS)
    frame = pd.concat(frames, ignore_index=True)
    failed = frame["state"].isin(["diverged", "undefined"])
    frame["value"] = frame["value"].mask(failed, np.nan)
    columns = [*TRIAL_COLUMNS, *plan.searched]
    return frame.reindex(columns=columns)  # a hyperparameter that no trial has is missing


SEARCH = ["arm", "task", "pretrain_seed"]
"""Columns that name a search."""


def selected_trials(results: Results) -> pd.DataFrame:
    """The selected trial of each search: the first with the best score; columns as of
    `trials_frame`, `value` is `WORST` where no trial has one."""
    trials = results.get(trials_frame)
    whole = trials[trials["state"] != "pruned"].fillna({"value": WORST})
    if whole.empty:
        return whole
    return whole.loc[whole.groupby(SEARCH, sort=False)["value"].idxmax()]
