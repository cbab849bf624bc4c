"""What the store holds of searches, as the frame that reports read."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from harness.analysis.frames.stage_files import stage_files
from harness.plan.plan import Plan
from harness.store.store import Record, Store

TRIAL_COLUMNS = ["arm", "task", "trial", "value", "state", "seconds", "reached"]


def trials_frame(plan: Plan, records: Mapping[str, Record], store: Store) -> pd.DataFrame:
    """One row per arm, task and trial of a finished search; one column more per hyperparameter.

    `value` is the score on the hold-out; NaN where there is none, for the trial diverged or its
    metric is undefined. `state` is complete, diverged, undefined or pruned; a pruned trial has the
    value of the epoch `reached`, at which it was ended. `seconds` are those of its fine-tuning.
    """
    tunes = {
        (cell.arm, cell.task): plan.stages[cell.key].parents["tune"]
        for cell in plan.cells
        if "tune" in plan.stages[cell.key].parents
    }
    frames = [
        _trials(records[key], store).assign(arm=arm, task=task)
        for (arm, task), key in tunes.items()
        if key in records
    ]
    if not frames:
        return pd.DataFrame(columns=TRIAL_COLUMNS)
    frame = pd.concat(frames, ignore_index=True)
    failed = frame["state"].isin(["diverged", "undefined"])
    frame["value"] = frame["value"].mask(failed, np.nan)
    return frame[[*TRIAL_COLUMNS, *plan.experiment.sweep.space]]


def _trials(record: Record, store: Store) -> pd.DataFrame:
    return pd.read_csv(stage_files(record, store) / "trials.csv")
