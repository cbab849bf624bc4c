"""Experiments as recorded by their latest runs, and results imported from elsewhere."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from harness.store.store import Store

SCORE_COLUMNS = [
    *("experiment", "arm", "suite", "task", "split", "metric", "value"),
    *("pretrain_seed", "finetune_seed", "key"),
]
"""Columns of the scores of an experiment; `key` is that of the fine-tuning stage."""
SCORES_FILE, SPEC_FILE, STAGES_FILE = "results.parquet", "experiment.yaml", "stages.json"
IMPORTED_SCORES, IMPORTED_EXAMPLES = "scores.parquet", "examples.parquet"


@dataclass(frozen=True)
class RecordedExperiment:
    """An experiment as its latest run recorded it."""

    name: str
    folder: Path

    @cached_property
    def scores(self) -> pd.DataFrame:
        """Every score: SCORE_COLUMNS."""
        return pd.read_parquet(self.folder / SCORES_FILE)

    @cached_property
    def spec(self) -> Mapping[str, Any]:
        """The resolved experiment as plain data; see `Declaration.resolved`."""
        text = (self.folder / SPEC_FILE).read_bytes()
        spec: dict[str, Any] = yaml.load(text, Loader=yaml.CSafeLoader)
        return spec

    @property
    def stages(self) -> set[str]:
        """Keys of its stages; if an earlier version recorded it, of those with scores."""
        path = self.folder / STAGES_FILE
        return set(json.loads(path.read_text()) if path.exists() else self.scores["key"])


def recorded_experiments(store: Store) -> list[RecordedExperiment]:
    """Every experiment that was run, sorted by name."""
    experiments = sorted(store.experiments().items())
    return [RecordedExperiment(name, folder) for name, folder in experiments]


def imported_examples(store: Store, source: str, experiment: str, arm: str) -> pd.DataFrame:
    """The imported examples of an arm, with the columns of `docs/results.md`; empty if it has
    none."""
    wanted = [("source", "==", source), ("experiment", "==", experiment), ("arm", "==", arm)]
    files = (folder / IMPORTED_EXAMPLES for folder in store.imports())
    frames = [pd.read_parquet(file, filters=wanted) for file in files if file.is_file()]
    empty = pd.DataFrame({"task": [], "pretrain_seed": [], "finetune_seed": []}, dtype="string")
    return pd.concat(frames, ignore_index=True) if frames else empty


def imported_scores(store: Store) -> pd.DataFrame | None:
    """All imported scores; null if there are none."""
    frames = [pd.read_parquet(folder / IMPORTED_SCORES) for folder in store.imports()]
    return pd.concat(frames, ignore_index=True) if frames else None
