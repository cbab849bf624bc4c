"""Trials of the hyperparameter search."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from harness.analysis.results import Results
from harness.finetuning.search.trials import WORST

TRIAL_COLUMNS = ["arm", "task", "trial", "value", "state", "seconds", "epochs_run"]


def trials_frame(results: Results) -> pd.DataFrame:
    """One row per arm, task and trial of a finished search: TRIAL_COLUMNS and the hyperparameters.

    A hyperparameter of other adaptations than the trial's is NaN. `value` is the hold-out score,
    NaN if the trial diverged or its metric is undefined. `state` is complete, diverged, undefined
    or pruned; a pruned trial has the score of epoch `epochs_run`, after which it ended. `seconds`
    is the time of its fine-tuning.
    """
    plan = results.plan
    searches = {
        (run.arm, run.task): plan.stages[run.key].parents["tune"]
        for run in plan.finetune_runs
        if "tune" in plan.stages[run.key].parents
    }
    frames = [
        pd.read_csv(results.files(key) / "trials.csv").assign(arm=arm, task=task)
        for (arm, task), key in searches.items()
        if key in results.finished
    ]
    if not frames:
        return pd.DataFrame(columns=TRIAL_COLUMNS)
    frame = pd.concat(frames, ignore_index=True)
    failed = frame["state"].isin(["diverged", "undefined"])
    frame["value"] = frame["value"].mask(failed, np.nan)
    columns = [*TRIAL_COLUMNS, *plan.searched]
    return frame.reindex(columns=columns)  # a hyperparameter that no trial has is missing


def selected_trials(results: Results) -> Iterator[tuple[str, str, pd.DataFrame, "pd.Series[Any]"]]:
    """(arm, task, all trials, the selected trial: the first with the best score)."""
    for (arm, task), trials in results.get(trials_frame).groupby(["arm", "task"], sort=False):
        whole = trials[trials["state"] != "pruned"].fillna({"value": WORST})
        yield str(arm), str(task), trials, whole.iloc[int(whole["value"].to_numpy().argmax())]
