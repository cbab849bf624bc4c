"""The store of finished stages, recorded experiments and imported results."""

import hashlib
import os
import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING, Any

from harness.core.files import make_once
from harness.store.artifacts import digest, resolve
from harness.store.cache import forget
from harness.store.moved_folder import correct_addresses
from harness.store.outages import place_of
from harness.store.params import join_params, unflatten
from harness.store.snapshot import (
    Entry,
    Snapshot,
    TrackedRun,
    find_finished,
    read_params,
    tracked_runs,
)
from harness.store.snapshot_updates import update_from_server, update_from_tables

if TYPE_CHECKING:
    from harness.store.mlflow_runs import Server

EXPERIMENT = "pretraining-harness"
KEY, KIND, LABEL, DIGEST = "harness.key", "harness.kind", "harness.label", "harness.digest"
MADE_WITH = "harness.made_with"
ADOPTED = "harness.adopted"
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
    adopted: str = ""
    """What was changed since it was computed, and why that does not matter, as the user says;
    empty if it was computed as recorded."""
    recorded: int = 0
    """When it was stored, in milliseconds since 1970."""


class Store:
    """All finished stages and experiments: in SQLite and a folder under `root`, or on the MLflow
    server that `MLFLOW_TRACKING_URI` names."""

    def __init__(self, root: Path) -> None:
        """Opens a store; MLflow's tables, which take seconds, are created when they are needed."""
        self.root = root.absolute()
        self.root.mkdir(parents=True, exist_ok=True)
        self._uri = os.environ.get("MLFLOW_TRACKING_URI")
        self.is_remote = bool(self._uri)  # processes with other folders may use it, too
        self._database = self.root / DATABASE  # if there is no server
        if not self._uri and correct_addresses(self._database, EXPERIMENT, self.root / ARTIFACTS):
            (self.root / SNAPSHOT).unlink(missing_ok=True)

    @property
    def _is_new(self) -> bool:
        """Whether a local store has no tables yet."""
        return not self._uri and not self._database.exists()

    @cached_property
    def _server(self) -> "Server":
        """MLflow; imported only when needed, since the snapshot serves most reads."""
        return self.tracking(EXPERIMENT)

    def tracking(self, experiment: str) -> "Server":
        """The runs of an MLflow experiment of this store."""
        from harness.store.mlflow_runs import Server, sqlite_uri

        if self._uri:
            return Server(self._uri, experiment, None)
        make_once(self._database, _make_tables)
        return Server(sqlite_uri(self._database), experiment, self.root / ARTIFACTS)

    def tracked(self, experiment: str) -> list[TrackedRun]:
        """The runs of an MLflow experiment; an experiment in a local store is not created."""
        if self._is_new:
            return []
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
        found = self._tagged(KEY, key)
        return _record(found[-1]) if found else None

    def spec(self, record: StageResult) -> dict[str, Any]:
        """The spec of a stage with its `parents`, read back from the params of its run."""
        return self._server.spec(record.run_id)

    def specs(self, records: Sequence[StageResult]) -> dict[str, dict[str, Any]]:
        """Key to spec of several stages; see `spec`."""
        if not self._uri:
            try:
                params = read_params(self._database, [one.run_id for one in records])
                return {one.key: unflatten(join_params(params[one.run_id])) for one in records}
            except sqlite3.DatabaseError:  # another version of MLflow's tables
                pass
        return {one.key: self.spec(one) for one in records}

    def record(
        self,
        key: str,
        kind: str,
        label: str,
        spec: Mapping[str, Any],
        metrics: Mapping[str, float | None],
        folder: Path,
        made_with: str = "",
        adopted: str = "",
    ) -> StageResult:
        """Stores a finished stage, unless another process stores it at the same time.

        Returns:
            The stored result: this one, or that of the process that was first.

        Args:
            label: for people.
            metrics: nulls are left out.
            folder: output files, which are copied.
            made_with, adopted: see `StageResult`.
        """
        tags = {KEY: key, KIND: kind, LABEL: label, DIGEST: digest(folder), MADE_WITH: made_with}
        tags |= {ADOPTED: adopted} if adopted else {}
        while True:
            added = self._server.add(f"{kind}: {label}", tags, spec, metrics, folder)
            if all(one.run_id == added.run_id for one in self._tagged(KEY, key)):
                return _record(added)
            # Each looks after it has finished, so that at most one of several remains.
            self._server.fail(added.run_id)
            if first := self.find(key):
                return first

    def record_experiment(self, name: str, suite: str, folder: Path) -> None:
        """Stores that an experiment was run, with a copy of `folder`: its spec and scores."""
        self._server.add(name, {NAME: name, SUITE: suite}, {}, {}, folder)

    def experiments(self) -> dict[str, Path]:
        """Experiment name to the folder that its latest run recorded."""
        latest = {entry.tags[NAME]: entry for entry in self._tagged(NAME)}
        return {name: resolve(entry.artifact_uri) for name, entry in latest.items()}

    def record_import(self, name: str, folder: Path) -> None:
        """Stores results that were measured elsewhere: a copy of `folder`."""
        self._server.add(f"import: {name}", {IMPORT: name}, {}, {}, folder)

    def imports(self) -> list[Path]:
        """Folders of the results that were measured elsewhere, in the order of their import."""
        return [resolve(entry.artifact_uri) for entry in self._tagged(IMPORT)]

    def fetch(self, record: StageResult) -> Path | None:
        """The folder of a stage's files; null if they are missing or changed.

        Raises:
            OSError: they cannot be downloaded.
        """
        try:
            folder = resolve(record.artifact_uri)
        except FileNotFoundError:
            return None
        if digest(folder) == record.digest:
            return folder
        if not record.artifact_uri.startswith("file:"):
            forget(record.artifact_uri)
        return None

    def files(self, record: StageResult) -> Path:
        """The folder of a stage's files.

        Raises:
            ValueError: they are missing or changed; the next run computes the stage again.
            OSError: they cannot be downloaded.
        """
        folder = self.fetch(record)
        if folder is None:
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

    def remove(self, record: StageResult) -> None:
        """Deletes the files of a stage in a local store, and moves its run to MLflow's trash."""
        self._server.delete(record.run_id)
        if record.artifact_uri.startswith("file:"):
            rmtree(resolve(record.artifact_uri).parent, ignore_errors=True)

    @property
    def place(self) -> str:
        """Where tables and files are: a folder, or the address of a server without secrets."""
        if not self._uri:
            return str(self.root)
        return place_of(self._uri)

    def _tagged(self, tag: str, value: str | None = None) -> list[Entry]:
        """The finished runs with a tag that few have, by start time; null: any value."""
        if self._is_new:
            return []
        if not self._uri:
            with suppress(sqlite3.DatabaseError):  # another version of MLflow's tables
                return find_finished(self._database, EXPERIMENT, tag, value)
        condition = f"tags.`{tag}` = '{value}'"
        return self._entries(tag) if value is None else self._server.search(condition)

    def _entries(self, mark: str, names: Collection[str] | None = None) -> list[Entry]:
        """Finished runs with the tag `mark` and one of its values `names` (null: any), by start
        time."""
        if self._is_new:
            return []
        if self._uri:
            address = hashlib.sha256(self.place.encode()).hexdigest()[:16]
            snapshot = Snapshot(self.root / f"snapshot-{address}.db", MARKS)
            update_from_server(snapshot, self._server)
            return snapshot.entries(mark, names)
        try:
            snapshot = Snapshot(self.root / SNAPSHOT, MARKS)
            update_from_tables(snapshot, self._database, EXPERIMENT)
            return snapshot.entries(mark, names)
        except sqlite3.DatabaseError:  # another version of MLflow's tables
            found = self._server.search(f"tags.`{mark}` != ''")
            return [entry for entry in found if names is None or entry.tags[mark] in names]


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
        adopted=entry.tags.get(ADOPTED, ""),
        recorded=entry.end_time,
    )
