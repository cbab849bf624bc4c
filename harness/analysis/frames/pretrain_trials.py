"""Trials of the search of pretraining settings."""

import json

import pandas as pd

from harness.analysis.results import Results
from harness.finetuning.search.pretrain_search import TRIALS, PretrainTrial, best

PRETRAIN_TRIAL_COLUMNS = ["arm", "trial", "loss", "seconds", "chosen"]


def pretrain_trials_frame(results: Results) -> pd.DataFrame:
    """One row per arm and trial of a finished search: PRETRAIN_TRIAL_COLUMNS and the settings, NaN
    where the arm does not search them.

    `loss` is the held-out loss at the end of the trial, NaN if it diverged; `chosen` marks the
    trial whose settings the arm's runs have.
    """
    search = results.experiment.sweep.pretrain
    rows = []
    for arm, key in results.plan.pretrain_searches.items():
        if key in results.finished:
            found = json.loads((results.files(key) / TRIALS).read_text())
            trials = [PretrainTrial(**one) for one in found]
            chosen = best(trials).number
            rows += [
                {
                    "arm": arm,
                    "trial": one.number,
                    "loss": one.loss,
                    "seconds": one.seconds,
                    "chosen": one.number == chosen,
                    **one.params,
                }
                for one in trials
            ]
    names = [*PRETRAIN_TRIAL_COLUMNS, *(search.names if search else ())]
    return pd.DataFrame(rows, columns=names).astype({"loss": float})
