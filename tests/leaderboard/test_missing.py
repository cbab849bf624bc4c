"""Each empty cell has its reason."""

import numpy as np
import pandas as pd

from harness.leaderboard import missing
from harness.leaderboard.table import Row, Score
from harness.tasks.task import Column

COLUMNS = (
    Column(name="SST-2", task="sst2", metrics=("accuracy",)),
    Column(name="STS-B", task="stsb", metrics=("spearman",)),
    Column(name="MRPC", task="mrpc", metrics=("accuracy", "f1")),
)
TASKS = {"sst2", "stsb", "mrpc"}

COLUMNS_OF_SCORES = ["arm", "task", "split", "metric", "pretrain_seed", "finetune_seed", "value"]


def reasons(rows, tasks=TASKS, unsupported=""):
    frame = pd.DataFrame(rows, columns=COLUMNS_OF_SCORES)
    scores = tuple(None for _ in COLUMNS)
    found = missing.reasons(
        [Row("a", scores, None)], COLUMNS, frame, {"a": tasks}, lambda row, task: unsupported
    )
    return found["a"]


def test_reasons():
    rows = [
        ("a", "stsb", "validation", "spearman", 0, 0, np.nan),
        ("a", "stsb", "validation", "spearman", 0, 1, 0.5),
        ("a", "mrpc", "validation", "accuracy", 0, 0, 0.5),
    ]
    found = reasons(rows)
    assert found["SST-2"] == missing.NOT_FINISHED
    assert "undefined in 1 of 2 runs" in found["STS-B"]
    assert found["MRPC"] == missing.OTHER_METRICS
    both = [("a", "mrpc", "validation", metric, 0, 0, np.nan) for metric in ("accuracy", "f1")]
    assert "undefined in 1 of 1 runs" in reasons(both)["MRPC"]
    assert "undefined in 1 of 1 runs" in reasons([rows[-1], both[1]])["MRPC"]  # one of its two
    assert reasons(rows, tasks={"sst2"})["STS-B"] == missing.NOT_CHOSEN
    assert reasons(rows, unsupported="too few layers")["SST-2"] == (
        "The arm does not support the task: too few layers."
    )


def test_full_rows_have_none():
    row = Row("a", tuple(Score(1.0) for _ in COLUMNS), Score(1.0))
    frame = pd.DataFrame(columns=COLUMNS_OF_SCORES)
    assert missing.reasons([row], COLUMNS, frame, {}, lambda *_: "") == {}
