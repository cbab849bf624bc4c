"""Runs in MLflow. No other module imports mlflow, which takes three seconds; `Store` imports this
one only when needed."""

import logging
import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
os.environ.setdefault("MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", "false")  # a bar for each stage
logging.getLogger("alembic").setLevel(logging.WARNING)  # a new database logs 80 lines

from mlflow import artifacts  # noqa: E402
from mlflow.entities import Metric, Param, Run, RunTag, ViewType  # noqa: E402
from mlflow.exceptions import MlflowException  # noqa: E402
from mlflow.tracking import MlflowClient  # noqa: E402
from sqlalchemy.exc import SQLAlchemyError  # noqa: E402

from harness.store.entries import CHECKSUM, Entry, Point, TrackedRun, checksum  # noqa: E402
from harness.store.params import (  # noqa: E402
    MAX_PARAM,
    flatten,
    join_params,
    split_params,
    unflatten,
)

logging.getLogger("mlflow").setLevel(logging.WARNING)  # after its import, which sets it to INFO
logging.getLogger("mlflow.store.db.utils").setLevel(logging.CRITICAL)  # tracebacks of raised errors

PAGE = 1000
MAX_TAG = 8000
"""Characters of a tag, beyond which MLflow cuts it silently."""


@contextmanager
def _os_errors() -> Iterator[None]:
    """A context in which MLflow's errors become OSErrors, which callers need no MLflow to catch.

    MLflow repeats a request to a server that does not answer for some minutes first
    (MLFLOW_HTTP_REQUEST_MAX_RETRIES).
    """
    try:
        yield
    except (MlflowException, SQLAlchemyError) as error:
        raise OSError(f"MLflow: {_line(error)}") from error


def _line(error: Exception) -> str:
    """The line of a message that says what happened; SQL and parameters follow."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return next((line for line in lines if "sqlite3." in line), lines[0] if lines else "")


class Server:
    """The runs of one MLflow experiment. Every method raises an OSError if MLflow fails, such as a
    server that cannot be reached."""

    @_os_errors()
    def __init__(self, uri: str, experiment: str, artifacts: Path | None) -> None:
        """Connects to a tracking server or database.

        Args:
            artifacts: folder for the files of a new experiment; null: MLflow's default.
        """
        self.client = MlflowClient(uri)
        self.experiment, self.artifacts = experiment, artifacts

    @cached_property
    @_os_errors()
    def experiment_id(self) -> str:
        """Id of the experiment, which is created at first use."""
        if found := self.client.get_experiment_by_name(self.experiment):
            return str(found.experiment_id)
        location = self.artifacts.as_uri() if self.artifacts else None
        try:
            return str(self.client.create_experiment(self.experiment, artifact_location=location))
        except MlflowException:  # another process was faster
            if found := self.client.get_experiment_by_name(self.experiment):
                return str(found.experiment_id)
            raise

    @_os_errors()
    def restore(self) -> None:
        """Restores the experiment if it was deleted, which MLflow's pages offer; MLflow creates no
        other of its name."""
        found = self.client.get_experiment_by_name(self.experiment)
        if found and found.lifecycle_stage == "deleted":
            self.client.restore_experiment(found.experiment_id)

    def search(self, condition: str) -> list[Entry]:
        """Finished runs that meet a condition in MLflow's filter syntax, by start time."""
        runs = self._search(f"attributes.status = 'FINISHED' AND {condition}")
        return sorted(map(_entry, runs), key=lambda entry: entry.start_time)

    def ended_since(self, since: int) -> tuple[list[Entry], list[str]]:
        """The runs that have finished since a time, and the ids of those that do not count: failed
        since, or deleted whenever.

        Args:
            since: milliseconds since 1970, by the clocks of the processes that ended the runs.
        """
        ended = self._search(f"attributes.end_time >= {since}")
        finished = [run for run in ended if run.info.status == "FINISHED"]
        failed = [run.info.run_id for run in ended if run.info.status != "FINISHED"]
        deleted = [run.info.run_id for run in self._search("", ViewType.DELETED_ONLY)]
        return [_entry(run) for run in finished], [*failed, *deleted]

    @_os_errors()
    def has(self, run_id: str) -> bool:
        """Whether there is a run with this id, deleted or not."""
        try:
            self.client.get_run(run_id)
        except MlflowException as error:
            if error.error_code == "RESOURCE_DOES_NOT_EXIST":
                return False
            raise
        return True

    @_os_errors()
    def _search(self, condition: str, view: int = ViewType.ACTIVE_ONLY) -> list[Run]:
        runs: list[Run] = []
        token = None
        while True:
            page = self.client.search_runs(
                [self.experiment_id],
                condition,
                run_view_type=view,
                max_results=PAGE,
                page_token=token,
            )
            runs.extend(page)
            token = page.token
            if not token:
                return runs

    @_os_errors()
    def add(
        self,
        name: str,
        tags: Mapping[str, str],
        spec: Mapping[str, Any],
        metrics: Mapping[str, float | None],
        folder: Path,
    ) -> Entry:
        """Adds a finished run with the files of `folder` and the metrics that are not null.

        The status FINISHED is set last: an interrupted run never counts.
        """
        start = int(1000 * time.time())
        known = {name: float(value) for name, value in metrics.items() if value is not None}
        tags = {name: _cut(text, MAX_TAG) for name, text in tags.items()}
        tags[CHECKSUM] = checksum(tags, known, start)
        run = self.client.create_run(self.experiment_id, start, tags, run_name=name).info
        self.client.log_batch(
            run.run_id,
            metrics=[Metric(name, value, start, 0) for name, value in known.items()],
            params=[Param(name, text) for name, text in split_params(flatten(spec)).items()],
        )
        self.client.log_artifacts(run.run_id, str(folder))
        end = int(1000 * time.time())
        self.client.set_terminated(run.run_id, end_time=end)
        return Entry(run.run_id, start, end, run.artifact_uri, tags, known)

    def runs(self, condition: str = "") -> list[TrackedRun]:
        """All runs that meet a condition in MLflow's filter syntax, whatever their status."""
        return [
            TrackedRun(run.info.run_id, run.info.status, run.data.tags)
            for run in self._search(condition)
        ]

    @_os_errors()
    def start(self, name: str, tags: Mapping[str, str], start_time: int | None = None) -> str:
        """Id of a new run with the status RUNNING.

        Args:
            tags: `PARENT` nests it below another run.
            start_time: milliseconds since 1970; null: now.
        """
        run = self.client.create_run(self.experiment_id, start_time, dict(tags), run_name=name)
        return str(run.info.run_id)

    @_os_errors()
    def log(
        self,
        run_id: str,
        points: Iterable[Point] = (),
        params: Mapping[str, Any] | None = None,
        tags: Mapping[str, str] | None = None,
    ) -> None:
        """Adds to a run. A point that it has already, with equal time, is not added again.

        Args:
            params: nested; values above MLflow's limit are cut, visibly.
        """
        metrics = [Metric(_allowed(p.name), p.value, p.time, p.step) for p in points]
        texts = {name: str(value) for name, value in flatten(params or {}).items()}
        self.client.log_batch(
            run_id,
            metrics=metrics,
            params=[Param(name, _cut(text, MAX_PARAM)) for name, text in texts.items()],
            tags=[RunTag(name, _cut(text, MAX_TAG)) for name, text in (tags or {}).items()],
        )

    @_os_errors()
    def set_status(self, run_id: str, status: str, end_time: int | None = None) -> None:
        """Sets RUNNING, or another status and the end.

        Args:
            end_time: milliseconds since 1970; null: now.
        """
        if status == "RUNNING":
            self.client.update_run(run_id, status)
        else:
            self.client.set_terminated(run_id, status, end_time)

    @_os_errors()
    def delete(self, run_id: str) -> None:
        """Moves a run to MLflow's trash."""
        self.client.delete_run(run_id)

    @_os_errors()
    def spec(self, run_id: str) -> dict[str, Any]:
        """The spec of a run, read back from its params."""
        return unflatten(join_params(self.client.get_run(run_id).data.params))

    @_os_errors()
    def fail(self, run_id: str) -> None:
        """Marks a finished run as failed."""
        self.client.set_terminated(run_id, status="FAILED")


def make_tables(path: Path) -> None:
    """Creates MLflow's tables in a new SQLite file."""
    MlflowClient(sqlite_uri(path)).search_experiments(max_results=1)


def sqlite_uri(path: Path) -> str:
    """MLflow's tracking URI of a SQLite file."""
    return f"sqlite:///{path}"


def download(uri: str, folder: Path) -> Path:
    """The path of a file or of all files of a run, downloaded into a folder.

    Raises:
        FileNotFoundError: there are none.
        OSError: the download fails.
    """
    # Not MLflow's own default, which other code of the process may have set.
    server = os.environ.get("MLFLOW_TRACKING_URI")
    arguments = {"artifact_uri": uri, "tracking_uri": server}
    try:
        return Path(artifacts.download_artifacts(**arguments, dst_path=str(folder)))
    except MlflowException as error:
        with _os_errors():
            if not artifacts.list_artifacts(**arguments):
                raise FileNotFoundError(f"there are no files at {uri}") from None
        raise OSError(f"MLflow: {_line(error)}") from error


def _entry(run: Run) -> Entry:
    return Entry(
        run_id=run.info.run_id,
        start_time=run.info.start_time,
        end_time=run.info.end_time,
        artifact_uri=run.info.artifact_uri,
        tags=run.data.tags,
        metrics=run.data.metrics,
    )


def _allowed(name: str) -> str:
    """The name of a metric, with `_` for characters that MLflow refuses."""
    return re.sub(r"[^\w./ :-]", "_", name)


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit - 3]}..."
