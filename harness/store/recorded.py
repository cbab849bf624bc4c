"""Experiments as recorded by their latest runs, and results imported from elsewhere."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import yaml
from pyarrow.parquet import ParquetFile

from harness.store.store import Store

SCORE_COLUMNS = [
    *("experiment", "arm", "suite", "task", "split", "metric", "value"),
    *("pretrain_seed", "finetune_seed", "key"),
]
"""Columns of the scores of an experiment; `key` is that of the fine-tuning stage."""
SCORES_FILE, SPEC_FILE, STAGES_FILE = "results.parquet", "experiment.yaml", "stages.json"
QUANTITIES_FILE = "quantities.json"
QUICK_SPEC_FILE = "experiment.json"
"""The content of SPEC_FILE, which takes thirty times as long to read."""
IMPORTED_SCORES, IMPORTED_EXAMPLES = "scores.parquet", "examples.parquet"


@dataclass(frozen=True)
class RecordedExperiment:
    """An experiment as its latest run recorded it."""

    name: str
    folder: Path

    @cached_property
    def scores(self) -> pd.DataFrame:
        """Every score: SCORE_COLUMNS."""
        return scores_of([self])

    @cached_property
    def _scores(self) -> pa.Table:
        with self._reading(SCORES_FILE), ParquetFile(self.folder / SCORES_FILE) as file:
            return file.read()

    @cached_property
    def spec(self) -> Mapping[str, Any]:
        """The resolved experiment as plain data; see `Declaration.resolved`."""
        quick = self.folder / QUICK_SPEC_FILE
        spec: dict[str, Any]
        if quick.exists():  # not if an earlier version recorded it
            with self._reading(QUICK_SPEC_FILE):
                spec = json.loads(quick.read_bytes())
        else:
            with self._reading(SPEC_FILE):
                spec = yaml.load((self.folder / SPEC_FILE).read_bytes(), Loader=yaml.CSafeLoader)
        return spec

    @contextmanager
    def _reading(self, file: str) -> Iterator[None]:
        """A context in which an error says what to do, for records of versions without digests."""
        try:
            yield
        except (ValueError, pa.ArrowException, yaml.YAMLError, OSError) as error:
            line = str(error).partition("\n")[0]
            raise ValueError(
                f"{self.folder / file} cannot be read: run {self.name} again ({line})"
            ) from error

    @property
    def quantities(self) -> Mapping[str, Mapping[str, Sequence[float]]]:
        """Arm to quantity to its values; empty if an earlier version recorded the experiment."""
        path = self.folder / QUANTITIES_FILE
        with self._reading(QUANTITIES_FILE):
            return json.loads(path.read_bytes()) if path.exists() else {}

    @property
    def stages(self) -> set[str]:
        """Keys of its stages; if an earlier version recorded it, of those with scores."""
        path = self.folder / STAGES_FILE
        with self._reading(STAGES_FILE):
            known = json.loads(path.read_bytes()) if path.exists() else None
        return set(self.scores["key"] if known is None else known)


def recorded_experiments(store: Store) -> list[RecordedExperiment]:
    """Every experiment that was run, sorted by name."""
    experiments = sorted(store.experiments().items())
    return [RecordedExperiment(name, folder) for name, folder in experiments]


def scores_of(experiments: Sequence[RecordedExperiment], suite: str | None = None) -> pd.DataFrame:
    """The scores of several experiments: SCORE_COLUMNS. Files are joined before they become a
    frame, which takes most of the time.

    Args:
        suite: its scores alone; null: all.
    """
    tables = [one._scores for one in experiments]
    if not tables:
        return pd.DataFrame(columns=SCORE_COLUMNS)
    joined = pa.concat_tables(tables, promote_options="permissive")
    joined = joined.filter(pc.field("suite") == suite) if suite else joined
    return joined.to_pandas(ignore_metadata=True)


def imported_examples(store: Store, source: str, experiment: str, arm: str) -> pd.DataFrame:
    """The imported examples of an arm, with the columns of `docs/results.md`; empty if it has
    none."""
    wanted = [("source", "==", source), ("experiment", "==", experiment), ("arm", "==", arm)]
    frames = [
        pd.read_parquet(folder / IMPORTED_EXAMPLES, filters=wanted)
        for folder, replaced in store.imports().items()
        if source not in replaced and (folder / IMPORTED_EXAMPLES).is_file()
    ]
    empty = pd.DataFrame({"task": [], "pretrain_seed": [], "finetune_seed": []}, dtype="string")
    return pd.concat(frames, ignore_index=True) if frames else empty


def imported_scores(store: Store) -> pd.DataFrame | None:
    """All imported scores; null if there are none."""
    frames: list[pd.DataFrame] = []
    for folder, replaced in store.imports().items():
        if not (folder / IMPORTED_SCORES).is_file():  # a removal by an earlier version
            continue
        frame = pd.read_parquet(folder / IMPORTED_SCORES)
        frames.append(frame[~frame["source"].isin(replaced)] if replaced else frame)
    frames = [frame for frame in frames if len(frame)]
    return pd.concat(frames, ignore_index=True) if frames else None
