"""The one store, MLflow: a stage is a run tagged with its key; FINISHED means done.

The only file that imports mlflow.
"""

import hashlib
import logging
import os
import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
logging.getLogger("alembic").setLevel(logging.WARNING)  # or a new database greets in 80 lines

from mlflow import artifacts  # noqa: E402
from mlflow.entities import Metric, Param, Run, ViewType  # noqa: E402
from mlflow.exceptions import MlflowException  # noqa: E402
from mlflow.tracking import MlflowClient  # noqa: E402

from harness.files import make_once  # noqa: E402
from harness.params import flatten, unflatten  # noqa: E402
from harness.snapshot import Entry, Snapshot, finished_runs, mark_of, read_entries  # noqa: E402

logging.getLogger("mlflow").setLevel(logging.WARNING)  # after its import, which sets it to INFO

EXPERIMENT = "pretraining-harness"
KEY, KIND, LABEL, DIGEST = "harness.key", "harness.kind", "harness.label", "harness.digest"
NAME, SUITE = "harness.experiment", "harness.suite"
IMPORT = "harness.import"
PAGE = 1000
SNAPSHOT = "snapshot-1.db"
"""Beside the store; the number goes up when what it holds changes."""
MARKS = (KEY, NAME, IMPORT)
"""Tags that say what kind of run one is."""


@dataclass(frozen=True)
class Record:
    """A finished stage, as the store holds it."""

    key: str
    kind: str
    run_id: str
    metrics: Mapping[str, float]
    artifact_uri: str
    digest: str


class Store:
    """All finished stages and experiments; SQLite and a folder under `root` unless
    `MLFLOW_TRACKING_URI` names a server."""

    def __init__(self, root: Path) -> None:
        self.root = root.absolute()
        self.root.mkdir(parents=True, exist_ok=True)
        database = self.root / "mlflow.db"
        self._database: Path | None = None
        """MLflow's tables, where they are a file of ours."""
        if not (uri := os.environ.get("MLFLOW_TRACKING_URI")):
            make_once(database, _make_tables)
            uri, self._database = _sqlite(database), database
        self._client = MlflowClient(uri)

    @cached_property
    def _experiment_id(self) -> str:
        """Made at first use; two processes may ask for it at once."""
        if found := self._client.get_experiment_by_name(EXPERIMENT):
            return str(found.experiment_id)
        remote = os.environ.get("MLFLOW_TRACKING_URI")
        location = None if remote else (self.root / "artifacts").as_uri()
        try:
            return str(self._client.create_experiment(EXPERIMENT, artifact_location=location))
        except MlflowException:  # another process was faster
            if found := self._client.get_experiment_by_name(EXPERIMENT):
                return str(found.experiment_id)
            raise

    def finished(self, keys: Iterable[str] | None = None) -> dict[str, Record]:
        """Key to record of every finished stage, or of those of `keys` that are finished."""
        wanted = None if keys is None else set(keys)
        records = (_record(entry) for entry in self._entries(KEY))
        return {r.key: r for r in records if wanted is None or r.key in wanted}

    def find(self, key: str) -> Record | None:
        """The record of one finished stage."""
        runs = self._search(f"tags.`{KEY}` = '{key}'")
        return _record(_entry(runs[0])) if runs else None

    def spec(self, record: Record) -> dict[str, Any]:
        """What a stage was told, read back from the params of its run."""
        return unflatten(self._client.get_run(record.run_id).data.params)

    def record(
        self,
        key: str,
        kind: str,
        label: str,
        spec: Mapping[str, Any],
        metrics: Mapping[str, float | None],
        folder: Path,
    ) -> Record:
        """Stores a finished stage: its spec, metrics (nulls left out) and the files of `folder`."""
        tags = {KEY: key, KIND: kind, LABEL: label, DIGEST: digest(folder)}
        run_id = self._store(f"{kind}: {label}", tags, flatten(spec), metrics, folder)
        return _record(_entry(self._client.get_run(run_id)))

    def record_experiment(self, name: str, suite: str, folder: Path) -> None:
        """Stores that an experiment was run, with the files of `folder`: its spec and results."""
        self._store(name, {NAME: name, SUITE: suite}, {}, {}, folder)

    def experiments(self) -> dict[str, Path]:
        """Experiment name to the folder that its latest run left."""
        latest = {entry.tags[NAME]: entry for entry in self._entries(NAME)}
        return {name: _local(entry.artifact_uri) for name, entry in latest.items()}

    def record_import(self, name: str, folder: Path) -> None:
        """Stores results that were measured elsewhere: the files of `folder`."""
        self._store(f"import: {name}", {IMPORT: name}, {}, {}, folder)

    def imports(self) -> list[Path]:
        """Folders of the results that were measured elsewhere, in the order of their coming."""
        return [_local(entry.artifact_uri) for entry in self._entries(IMPORT)]

    def fetch(self, record: Record) -> Path | None:
        """The folder of a stage's files, or null if they are not what was stored."""
        try:
            folder = _local(record.artifact_uri)
        except (MlflowException, OSError):
            return None
        return folder if digest(folder) == record.digest else None

    def forget(self, record: Record) -> None:
        """Takes a damaged stage out of the finished ones, so that it is made again."""
        self._client.set_terminated(record.run_id, status="FAILED")

    def _entries(self, mark: str) -> list[Entry]:
        """Finished runs with the tag `mark`, by start time: of a local store from its snapshot, as
        far as that has them."""
        if self._database is not None:
            try:
                return self._from_snapshot(self._database, mark)
            except sqlite3.DatabaseError:  # tables of a MLflow that is not known here
                pass
        found = [_entry(run) for run in self._search(f"tags.`{mark}` != ''")]
        return sorted(found, key=lambda entry: entry.start_time)

    def _from_snapshot(self, database: Path, mark: str) -> list[Entry]:
        snapshot = Snapshot(self.root / SNAPSHOT)
        known = snapshot.ends()  # before what is present, to which others may add in between
        present = finished_runs(database, self._experiment_id)
        gone = [run for run, end in known.items() if present.get(run) != end]
        new = [run for run, end in present.items() if known.get(run) != end]
        if gone or new:
            snapshot.update(gone, read_entries(database, new, MARKS))
        return snapshot.entries(mark)

    def _search(self, condition: str) -> list[Run]:
        runs: list[Run] = []
        token = None
        while True:
            page = self._client.search_runs(
                [self._experiment_id],
                f"attributes.status = 'FINISHED' AND {condition}",
                run_view_type=ViewType.ACTIVE_ONLY,
                max_results=PAGE,
                page_token=token,
            )
            runs.extend(page)
            token = page.token
            if not token:
                return runs

    def _store(
        self,
        name: str,
        tags: Mapping[str, str],
        params: Mapping[str, Any],
        metrics: Mapping[str, float | None],
        folder: Path,
    ) -> str:
        """Everything first, FINISHED last: a run that is cut short never counts."""
        run = self._client.create_run(self._experiment_id, run_name=name, tags=dict(tags))
        run_id = run.info.run_id
        stamp = run.info.start_time
        self._client.log_batch(
            run_id,
            metrics=[Metric(k, float(v), stamp, 0) for k, v in metrics.items() if v is not None],
            params=[Param(k, str(v)) for k, v in params.items()],
        )
        self._client.log_artifacts(run_id, str(folder))
        self._client.set_terminated(run_id)
        return str(run_id)


def _sqlite(path: Path) -> str:
    return f"sqlite:///{path}"


def _make_tables(path: Path) -> None:
    MlflowClient(_sqlite(path)).search_experiments(max_results=1)


def digest(folder: Path) -> str:
    """SHA-256 over the names and contents of the files of `folder`."""
    total = hashlib.sha256()
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        with path.open("rb") as file:
            content = hashlib.file_digest(file, "sha256").hexdigest()
        total.update(f"{path.relative_to(folder).as_posix()} {content}\n".encode())
    return total.hexdigest()


def _entry(run: Run) -> Entry:
    tags = run.data.tags
    return Entry(
        run_id=run.info.run_id,
        mark=mark_of(tags, MARKS),
        start_time=run.info.start_time,
        end_time=run.info.end_time,
        artifact_uri=run.info.artifact_uri,
        tags=tags,
        metrics=run.data.metrics,
    )


def _record(entry: Entry) -> Record:
    return Record(
        key=entry.tags[KEY],
        kind=entry.tags[KIND],
        run_id=entry.run_id,
        metrics=entry.metrics,
        artifact_uri=entry.artifact_uri,
        digest=entry.tags[DIGEST],
    )


def _local(uri: str) -> Path:
    """The local folder of an artifact URI; a remote one is downloaded."""
    if uri.startswith("file:"):
        return Path(url2pathname(urlsplit(uri).path))
    return Path(artifacts.download_artifacts(artifact_uri=uri))
