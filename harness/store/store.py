"""The store of finished stages, recorded experiments and imported results."""

import os
import sqlite3
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.core.files import make_once
from harness.store.artifacts import digest, resolve
from harness.store.moved_folder import correct_addresses
from harness.store.snapshot import (
    Entry,
    Snapshot,
    TrackedRun,
    finished_runs,
    read_entries,
    tracked_runs,
)

if TYPE_CHECKING:
    from harness.store.mlflow_runs import Server

EXPERIMENT = "pretraining-harness"
KEY, KIND, LABEL, DIGEST = "harness.key", "harness.kind", "harness.label", "harness.digest"
MADE_WITH = "harness.made_with"
NAME, SUITE = "harness.experiment", "harness.suite"
IMPORT = "harness.import"
MARKS = (KEY, NAME, IMPORT)
"""Tags that tell stages, experiments and imports apart; their value is the run's name."""
DATABASE = "mlflow.db"
ARTIFACTS = "artifacts"
"""Names of MLflow's tables and of the folder of files."""
SNAPSHOT = "snapshot-2.db"
"""File name of the snapshot; the number is raised when its content changes."""


@dataclass(frozen=True)
class StageResult:
    """The stored result of a finished stage."""

    key: str
    kind: str
    run_id: str
    metrics: Mapping[str, float]
    artifact_uri: str
    digest: str
    made_with: str = ""
    """Packages and machine; empty for runs of versions that did not record it."""
    recorded: int = 0
    """When it was stored, in milliseconds since 1970."""


class Store:
    """All finished stages and experiments: in SQLite and a folder under `root`, or on the MLflow
    server that `MLFLOW_TRACKING_URI` names."""

    def __init__(self, root: Path) -> None:
        """Opens a store, which is created if `root` has none."""
        self.root = root.absolute()
        self.root.mkdir(parents=True, exist_ok=True)
        self._uri = os.environ.get("MLFLOW_TRACKING_URI")
        self._database = self.root / DATABASE
        """MLflow's tables, unless they are on a server."""
        if not self._uri:
            make_once(self._database, _make_tables)
            self._follow_folder()

    def _follow_folder(self) -> None:
        """Corrects the addresses of files if the folder of the store was moved or copied."""
        try:
            changed = correct_addresses(self._database, EXPERIMENT, self.root / ARTIFACTS)
        except sqlite3.DatabaseError:  # another version of MLflow's tables, or a read-only folder
            return
        if changed:
            (self.root / SNAPSHOT).unlink(missing_ok=True)

    @cached_property
    def _server(self) -> "Server":
        """MLflow; imported only when needed, since the snapshot serves most reads."""
        return self.tracking(EXPERIMENT)

    def tracking(self, experiment: str) -> "Server":
        """The runs of an MLflow experiment of this store."""
        from harness.store.mlflow_runs import Server, sqlite_uri

        if self._uri:
            return Server(self._uri, experiment, None)
        return Server(sqlite_uri(self._database), experiment, self.root / ARTIFACTS)

    def tracked(self, experiment: str) -> list[TrackedRun]:
        """The runs of an MLflow experiment; an experiment in a local store is not created."""
        if not self._uri:
            try:
                return tracked_runs(self._database, experiment)
            except sqlite3.DatabaseError:  # another version of MLflow's tables
                pass
        return self.tracking(experiment).runs()

    def finished(self, keys: Iterable[str] | None = None) -> dict[str, StageResult]:
        """Key to result of every finished stage.

        Args:
            keys: restricts the stages; null: all.
        """
        entries = self._entries(KEY, None if keys is None else set(keys))
        return {entry.tags[KEY]: _record(entry) for entry in entries}

    def find(self, key: str) -> StageResult | None:
        """The latest result of one stage; null if it is not finished."""
        found = self._server.search(f"tags.`{KEY}` = '{key}'")
        return _record(found[-1]) if found else None

    def spec(self, record: StageResult) -> dict[str, Any]:
        """The spec of a stage with its `parents`, read back from the params of its run."""
        return self._server.spec(record.run_id)

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
        """Stores a finished stage.

        Args:
            label: for people.
            metrics: nulls are left out.
            folder: output files, which are copied.
            made_with: packages and machine.
        """
        tags = {KEY: key, KIND: kind, LABEL: label, DIGEST: digest(folder), MADE_WITH: made_with}
        return _record(self._server.add(f"{kind}: {label}", tags, spec, metrics, folder))

    def record_experiment(self, name: str, suite: str, folder: Path) -> None:
        """Stores that an experiment was run, with a copy of `folder`: its spec and scores."""
        self._server.add(name, {NAME: name, SUITE: suite}, {}, {}, folder)

    def experiments(self) -> dict[str, Path]:
        """Experiment name to the folder that its latest run recorded."""
        latest = {entry.tags[NAME]: entry for entry in self._entries(NAME)}
        return {name: resolve(entry.artifact_uri) for name, entry in latest.items()}

    def record_import(self, name: str, folder: Path) -> None:
        """Stores results that were measured elsewhere: a copy of `folder`."""
        self._server.add(f"import: {name}", {IMPORT: name}, {}, {}, folder)

    def imports(self) -> list[Path]:
        """Folders of the results that were measured elsewhere, in the order of their import."""
        return [resolve(entry.artifact_uri) for entry in self._entries(IMPORT)]

    def fetch(self, record: StageResult) -> Path | None:
        """The folder of a stage's files; null if they are missing or changed."""
        try:
            folder = resolve(record.artifact_uri)
        except OSError:
            return None
        return folder if digest(folder) == record.digest else None

    def files(self, record: StageResult) -> Path:
        """The folder of a stage's files.

        Raises:
            ValueError: they are missing or changed. If they are local, the next run computes the
                stage again; a download may have failed for another reason.
        """
        folder = self.fetch(record)
        if folder is None:
            if record.artifact_uri.startswith("file:"):
                self.forget(record)
            raise ValueError(
                f"the files of stage {record.key} are damaged: run the experiment again"
            )
        return folder

    def page(self, record: StageResult) -> str:
        """The page of a stage below the address of MLflow's pages."""
        return f"#/experiments/{self._server.experiment_id}/runs/{record.run_id}"

    def study_page(self, name: str) -> str | None:
        """The page of a study below the address of MLflow's pages; null if it has no runs."""
        if not self.tracked(name):
            return None
        return f"#/experiments/{self.tracking(name).experiment_id}"

    def forget(self, record: StageResult) -> None:
        """Marks a damaged stage as failed, so that it is computed again."""
        self._server.fail(record.run_id)

    def _entries(self, mark: str, names: Collection[str] | None = None) -> list[Entry]:
        """Finished runs with the tag `mark` and one of its values `names` (null: any), by start
        time; from the snapshot if the store is local."""
        if not self._uri:
            try:
                return self._from_snapshot(mark, names)
            except sqlite3.DatabaseError:  # another version of MLflow's tables
                pass
        found = self._server.search(f"tags.`{mark}` != ''")
        return [entry for entry in found if names is None or entry.tags[mark] in names]

    def _from_snapshot(self, mark: str, names: Collection[str] | None) -> list[Entry]:
        snapshot = Snapshot(self.root / SNAPSHOT, MARKS)
        known = snapshot.ends()  # read first: other processes may add runs in between
        present = finished_runs(self._database, EXPERIMENT)
        gone = [run for run, end in known.items() if present.get(run) != end]
        new = [run for run, end in present.items() if known.get(run) != end]
        if gone or new:
            snapshot.update(gone, read_entries(self._database, new))
        return snapshot.entries(mark, names)


def existing_store(folder: Path) -> Store | None:
    """The store of a local folder; null if there is none, and if `MLFLOW_TRACKING_URI` names a
    server."""
    is_local = not os.environ.get("MLFLOW_TRACKING_URI") and (folder / DATABASE).is_file()
    return Store(folder) if is_local else None


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
        recorded=entry.end_time,
    )
