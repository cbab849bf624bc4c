"""Scores of predictions, and the stored predictions and counts from which resamples are scored."""

import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from harness.tasks.examples import Answers, Examples, column
from harness.tasks.metrics import METRICS
from harness.tasks.task import Task

Predictions = Sequence[Any] | np.ndarray
"""[num_examples]: classes or choices (-1 for none), values, texts, or lists of tag indices or
mentions."""
COUNTS = "counts.npz"
"""Name of the file of `save_counts`."""
PREDICTIONS = "predictions.parquet"
"""Name of the file of `predictions_frame`."""
LABELS = "labels"
"""Name of the digest of the labels among the counts."""
GROUPS = "groups"
"""Name of the groups of the examples among the counts."""


def score(task: Task, examples: Examples, predictions: Predictions) -> dict[str, float | None]:
    """Metric to score, for all metrics of the task; None if undefined, as the correlation of a
    constant. Metrics of groups are left out if the examples have none.

    Raises:
        ValueError: as `Metric`.
    """
    values = {
        name: METRICS[name](examples.labels, predictions, examples.groups, task.labels)
        for name in task.metrics
        if examples.groups is not None or not METRICS[name].grouped
    }
    return {name: float(v) if np.isfinite(v) else None for name, v in values.items()}


def counts(
    task: Task, examples: Examples, predictions: Predictions, metrics: Sequence[str] | None = None
) -> dict[str, np.ndarray]:
    """Metric to counts [num_units, k], and LABELS to a digest of labels and groups [32] uint8.

    Runs with the same digest were scored on the same examples.

    Args:
        metrics: names in METRICS; by default those of the task.
    """
    found = {
        name: METRICS[name].counts(
            examples.labels, column(predictions), examples.groups, task.labels
        )
        for name in (task.metrics if metrics is None else metrics)
    }
    return {**found, LABELS: _digest(examples)}


def predictions_frame(
    split_name: str, examples: Examples, predictions: Predictions
) -> pd.DataFrame:
    """Columns split, index, label, prediction, and group if there are groups.

    Numbers are floats. Tags are lists of indices, mentions lists of three numbers, labels of
    extraction and generation lists of texts, and predicted texts are texts.
    """
    frame = pd.DataFrame(
        {
            "split": split_name,
            "index": np.arange(len(examples)),
            "label": _cells(examples.labels),
            "prediction": _cells(column(predictions)),
        }
    )
    return frame if examples.groups is None else frame.assign(group=list(examples.groups))


def save_counts(path: Path, splits: Mapping[str, Mapping[str, np.ndarray]]) -> None:
    """Writes counts to one compressed file, as arrays `split/metric`.

    Args:
        splits: split to the result of `counts`, arrays [num_units, k].
    """
    arrays: dict[str, Any] = {
        f"{split}/{name}": array for split, found in splits.items() for name, array in found.items()
    }
    np.savez_compressed(path, **arrays)


def load_counts(path: Path) -> dict[str, np.ndarray]:
    """`split/metric` to [num_units, k], and `split/labels` to the digest of the labels."""
    with np.load(path) as stored:
        return {name: stored[name] for name in stored.files}


def load_predictions(path: Path, columns: Sequence[str] | None = None) -> pd.DataFrame:
    """What `predictions_frame` returned, of all splits; only some columns if they are given."""
    import pyarrow.parquet as pq

    # Half of the time of `pandas.read_parquet`, which expects a data set of many files. The files
    # are so small that threads only wait for each other.
    return pq.ParquetFile(path).read(columns, use_threads=False).to_pandas(use_threads=False)


def load_groups(path: Path) -> dict[str, np.ndarray]:
    """`split/groups` to the number of the group of each example [num_examples], from 0 by name, as
    metrics of groups number them; without the splits whose examples have no groups."""
    import pyarrow.parquet as pq

    if "group" not in pq.read_schema(path).names:
        return {}
    stored = load_predictions(path, ["split", "group"])
    return {
        f"{split}/{GROUPS}": pd.factorize(rows["group"], sort=True)[0]
        for split, rows in stored.groupby("split", sort=False)
        if rows["group"].notna().all()
    }


def _digest(examples: Examples) -> np.ndarray:
    groups = None if examples.groups is None else list(examples.groups)
    content = json.dumps([[plain(label) for label in examples.labels], groups])
    return np.frombuffer(sha256(content.encode()).digest(), dtype=np.uint8)


def _cells(values: np.ndarray) -> np.ndarray | list[Any]:
    """A column in a format that parquet can store."""
    if values.dtype.kind in "biuf":
        return values.astype(np.float64)
    return [plain(value) for value in values]


def plain(value: Any) -> Any:
    """A label or prediction as a number, a text, or (nested) lists of them."""
    if isinstance(value, Answers):
        return list(value.texts)
    if isinstance(value, str):
        return str(value)  # a NumPy string becomes a str
    if isinstance(value, Sequence | np.ndarray):
        return [plain(entry) for entry in value]
    return value.item() if isinstance(value, np.generic) else value
