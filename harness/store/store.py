"""The store of finished stages, of experiments that were run, and of results from elsewhere."""

import os
import sqlite3
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.core.files import make_once
from harness.store.artifacts import digest, resolve
from harness.store.params import flatten, unflatten
from harness.store.snapshot import Entry, Snapshot, finished_runs, read_entries

if TYPE_CHECKING:
    from harness.store.mlflow_runs import Server

EXPERIMENT = "pretraining-harness"
KEY, KIND, LABEL, DIGEST = "harness.key", "harness.kind", "harness.label", "harness.digest"
MADE_WITH = "harness.made_with"
NAME, SUITE = "harness.experiment", "harness.suite"
IMPORT = "harness.import"
MARKS = (KEY, NAME, IMPORT)
"""Tags that say what kind of run one is, and name it."""
SNAPSHOT = "snapshot-2.db"
"""Beside the store; the number goes up when what it holds changes."""


@dataclass(frozen=True)
class StageResult:
    """A finished stage, as the store holds it."""

    key: str
    kind: str
    run_id: str
    metrics: Mapping[str, float]
    artifact_uri: str
    digest: str
    made_with: str = ""
    """Packages and machine; empty of runs that are older than this note."""


class Store:
    """All finished stages and experiments; SQLite and a folder under `root` unless
    `MLFLOW_TRACKING_URI` names a server."""

    def __init__(self, root: Path) -> None:
        self.root = root.absolute()
        self.root.mkdir(parents=True, exist_ok=True)
        self._uri = os.environ.get("MLFLOW_TRACKING_URI")
        self._database = self.root / "mlflow.db"
        """MLflow's tables, unless a server has them."""
        if not self._uri:
            make_once(self._database, _make_tables)

    @cached_property
    def _server(self) -> "Server":
        """MLflow, which a board over a snapshot does not wait for."""
        from harness.store.mlflow_runs import Server, sqlite_uri

        if self._uri:
            return Server(self._uri, EXPERIMENT, None)
        return Server(sqlite_uri(self._database), EXPERIMENT, self.root / "artifacts")

    def finished(self, keys: Iterable[str] | None = None) -> dict[str, StageResult]:
        """Key to record of every finished stage, or of those of `keys` that are finished."""
        entries = self._entries(KEY, None if keys is None else set(keys))
        return {entry.tags[KEY]: _record(entry) for entry in entries}

    def find(self, key: str) -> StageResult | None:
        """The record of one finished stage."""
        found = self._server.search(f"tags.`{KEY}` = '{key}'")
        return _record(found[-1]) if found else None

    def spec(self, record: StageResult) -> dict[str, Any]:
        """What a stage was told, read back from the params of its run."""
        return unflatten(self._server.params(record.run_id))

    def record(
        self,
        key: str,
        kind: str,
        label: str,
        spec: Mapping[str, Any],
        metrics: Mapping[str, float | None],
        folder: Path,
        made_with: str = "",
    ) -> StageResult:
        """Stores a finished stage: its spec, metrics (nulls left out), the files of `folder`, and
        the packages and the machine that made them."""
        tags = {KEY: key, KIND: kind, LABEL: label, DIGEST: digest(folder), MADE_WITH: made_with}
        return _record(self._server.add(f"{kind}: {label}", tags, flatten(spec), metrics, folder))

    def record_experiment(self, name: str, suite: str, folder: Path) -> None:
        """Stores that an experiment was run, with the files of `folder`: its spec and results."""
        self._server.add(name, {NAME: name, SUITE: suite}, {}, {}, folder)

    def experiments(self) -> dict[str, Path]:
        """Experiment name to the folder that its latest run left."""
        latest = {entry.tags[NAME]: entry for entry in self._entries(NAME)}
        return {name: resolve(entry.artifact_uri) for name, entry in latest.items()}

    def record_import(self, name: str, folder: Path) -> None:
        """Stores results that were measured elsewhere: the files of `folder`."""
        self._server.add(f"import: {name}", {IMPORT: name}, {}, {}, folder)

    def imports(self) -> list[Path]:
        """Folders of the results that were measured elsewhere, in the order of their coming."""
        return [resolve(entry.artifact_uri) for entry in self._entries(IMPORT)]

    def fetch(self, record: StageResult) -> Path | None:
        """The folder of a stage's files, or null if they are not what was stored."""
        try:
            folder = resolve(record.artifact_uri)
        except OSError:
            return None
        return folder if digest(folder) == record.digest else None

    def files(self, record: StageResult) -> Path:
        """The folder of a stage's files.

        Raises:
            ValueError: they are not what was stored.
        """
        folder = self.fetch(record)
        if folder is None:
            raise ValueError(
                f"the files of stage {record.key} are damaged: run the experiment again"
            )
        return folder

    def forget(self, record: StageResult) -> None:
        """Takes a damaged stage out of the finished ones, so that it is made again."""
        self._server.fail(record.run_id)

    def _entries(self, mark: str, names: Collection[str] | None = None) -> list[Entry]:
        """Finished runs with the tag `mark` (null: whatever it says), by start time: of a local
        store from its snapshot, as far as that has them."""
        if not self._uri:
            try:
                return self._from_snapshot(mark, names)
            except sqlite3.DatabaseError:  # tables of a MLflow that is not known here
                pass
        found = self._server.search(f"tags.`{mark}` != ''")
        return [entry for entry in found if names is None or entry.tags[mark] in names]

    def _from_snapshot(self, mark: str, names: Collection[str] | None) -> list[Entry]:
        snapshot = Snapshot(self.root / SNAPSHOT, MARKS)
        known = snapshot.ends()  # before what is present, to which others may add in between
        present = finished_runs(self._database, EXPERIMENT)
        gone = [run for run, end in known.items() if present.get(run) != end]
        new = [run for run, end in present.items() if known.get(run) != end]
        if gone or new:
            snapshot.update(gone, read_entries(self._database, new))
        return snapshot.entries(mark, names)


def _make_tables(path: Path) -> None:
    from harness.store.mlflow_runs import make_tables

    make_tables(path)


def _record(entry: Entry) -> StageResult:
    return StageResult(
        key=entry.tags[KEY],
        kind=entry.tags[KIND],
        run_id=entry.run_id,
        metrics=entry.metrics,
        artifact_uri=entry.artifact_uri,
        digest=entry.tags[DIGEST],
        made_with=entry.tags.get(MADE_WITH, ""),
    )
