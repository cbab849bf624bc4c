"""The one store, MLflow: a stage is a run tagged with its key; FINISHED means done.

The only file that imports mlflow.
"""

import ast
import hashlib
import logging
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
logging.getLogger("alembic").setLevel(logging.WARNING)  # or a new database greets in 80 lines

from mlflow import artifacts  # noqa: E402
from mlflow.entities import Metric, Param, Run, ViewType  # noqa: E402
from mlflow.exceptions import MlflowException  # noqa: E402
from mlflow.tracking import MlflowClient  # noqa: E402

from harness.files import make_once  # noqa: E402

logging.getLogger("mlflow").setLevel(logging.WARNING)  # after its import, which sets it to INFO

EXPERIMENT = "pretraining-harness"
KEY, KIND, LABEL, DIGEST = "harness.key", "harness.kind", "harness.label", "harness.digest"
NAME, SUITE = "harness.experiment", "harness.suite"
IMPORT = "harness.import"
PAGE = 1000


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
        if not (uri := os.environ.get("MLFLOW_TRACKING_URI")):
            make_once(database, _make_tables)
            uri = _sqlite(database)
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
        records = (_record(run) for run in self._search(f"tags.`{KEY}` != ''"))
        return {r.key: r for r in records if wanted is None or r.key in wanted}

    def find(self, key: str) -> Record | None:
        """The record of one finished stage."""
        runs = self._search(f"tags.`{KEY}` = '{key}'")
        return _record(runs[0]) if runs else None

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
        return _record(self._client.get_run(run_id))

    def record_experiment(self, name: str, suite: str, folder: Path) -> None:
        """Stores that an experiment was run, with the files of `folder`: its spec and results."""
        self._store(name, {NAME: name, SUITE: suite}, {}, {}, folder)

    def experiments(self) -> dict[str, Path]:
        """Experiment name to the folder that its latest run left."""
        runs = self._search(f"tags.`{NAME}` != ''")
        latest = {run.data.tags[NAME]: run for run in sorted(runs, key=lambda r: r.info.start_time)}
        return {name: _local(run.info.artifact_uri) for name, run in latest.items()}

    def record_import(self, name: str, folder: Path) -> None:
        """Stores results that were measured elsewhere: the files of `folder`."""
        self._store(f"import: {name}", {IMPORT: name}, {}, {}, folder)

    def imports(self) -> list[Path]:
        """Folders of the results that were measured elsewhere, in the order of their coming."""
        runs = sorted(self._search(f"tags.`{IMPORT}` != ''"), key=lambda run: run.info.start_time)
        return [_local(run.info.artifact_uri) for run in runs]

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


def flatten(spec: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested mappings as dotted names, for MLflow's params."""
    flat: dict[str, Any] = {}
    for name, value in spec.items():
        path = f"{prefix}{name}"
        flat.update(flatten(value, f"{path}.") if isinstance(value, Mapping) else {path: value})
    return flat


def unflatten(params: Mapping[str, str]) -> dict[str, Any]:
    """What `flatten` made dotted names and MLflow texts of; a text that looks like a number, or
    like a list, becomes one."""
    tree: dict[str, Any] = {}
    for path, text in params.items():
        *parents, name = path.split(".")
        branch = tree
        for parent in parents:
            branch = branch.setdefault(parent, {})
        try:
            branch[name] = ast.literal_eval(text)
        except (ValueError, SyntaxError):
            branch[name] = text
    return tree


def digest(folder: Path) -> str:
    """SHA-256 over the names and contents of the files of `folder`."""
    total = hashlib.sha256()
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        with path.open("rb") as file:
            content = hashlib.file_digest(file, "sha256").hexdigest()
        total.update(f"{path.relative_to(folder).as_posix()} {content}\n".encode())
    return total.hexdigest()


def _record(run: Run) -> Record:
    tags = run.data.tags
    return Record(
        key=tags[KEY],
        kind=tags[KIND],
        run_id=run.info.run_id,
        metrics=run.data.metrics,
        artifact_uri=run.info.artifact_uri,
        digest=tags[DIGEST],
    )


def _local(uri: str) -> Path:
    """The local folder of an artifact URI; a remote one is downloaded."""
    return Path(artifacts.download_artifacts(artifact_uri=uri))
