"""The scores of a fine-tuned model on its own training examples."""

import math

import pandas as pd

from harness.finetuning.baselines.predictor import Predictor
from harness.finetuning.diagnostics import DIAGNOSTICS_COLUMNS, TRAIN_SCORES
from harness.tasks.examples import Examples
from harness.tasks.scores import score
from harness.tasks.task import Task

MAX_TRAIN_EXAMPLES = 1_000
"""Most training examples that are scored, as many as the default of the hold-out."""


def train_scores(task: Task, train: Examples, predict: Predictor) -> pd.DataFrame:
    """The main metric on the first MAX_TRAIN_EXAMPLES of the examples that a model was trained on,
    in whole groups if there are any: one row of DIAGNOSTICS_COLUMNS, NaN where it is undefined.

    The sample is the same for all models with the same training examples.
    """
    sample, metric = train.sample(MAX_TRAIN_EXAMPLES), task.metrics[0]
    found = score(task, sample, predict(sample))[metric]
    row = (TRAIN_SCORES, "", metric, math.nan if found is None else found, None)
    frame = pd.DataFrame([row], columns=DIAGNOSTICS_COLUMNS)
    return frame.astype({"value": float, "step": "Int64"})
