"""What fine-tuning stages left, read by their keys."""

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from harness.store.store import Record, Store
from harness.tasks.scores import COUNTS, load_counts


def stage_files(record: Record, store: Store) -> Path:
    """The folder of a stage's files.

    Raises:
        ValueError: they are damaged.
    """
    folder = store.fetch(record)
    if folder is None:
        raise ValueError(f"the files of stage {record.key} are damaged: run the experiment again")
    return folder


def predictions_reader(
    records: Mapping[str, Record], store: Store
) -> Callable[[str], pd.DataFrame]:
    """A function from the key of a fine-tuning stage to its per-example predictions."""
    return lambda key: pd.read_parquet(stage_files(records[key], store) / "predictions.parquet")


def counts_reader(
    records: Mapping[str, Record], store: Store
) -> Callable[[str], Mapping[str, np.ndarray]]:
    """A function from the key of a fine-tuning stage to the counts of its scores; it raises
    ValueError where the files are damaged, or of a version that left none."""

    def counts(key: str) -> Mapping[str, np.ndarray]:
        path = stage_files(records[key], store) / COUNTS
        if not path.is_file():
            raise ValueError(f"stage {key} is of an earlier version, which left no counts")
        return load_counts(path)

    return counts
