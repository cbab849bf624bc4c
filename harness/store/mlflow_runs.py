"""Runs in MLflow. No other module imports mlflow, which takes three seconds; `Store` imports this
one only when needed."""

import logging
import os
import time
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
os.environ.setdefault("MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", "false")  # a bar for each stage
os.environ.setdefault("MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT", "true")  # with its password
logging.getLogger("alembic").setLevel(logging.WARNING)  # a new database logs 80 lines

from mlflow import artifacts  # noqa: E402
from mlflow.entities import Metric, Param, Run, RunTag, ViewType  # noqa: E402
from mlflow.exceptions import MlflowException, RestException  # noqa: E402
from mlflow.tracking import MlflowClient  # noqa: E402
from sqlalchemy.exc import SQLAlchemyError  # noqa: E402

from harness.core.secrets import MaskFilter  # noqa: E402
from harness.core.sqlite_files import sqlite_uri  # noqa: E402
from harness.store.entries import CHECKSUM, Entry, Point, TrackedRun, checksum, entry_of  # noqa: E402
from harness.store.outages import check_connection, outages_of  # noqa: E402
from harness.store.params import (  # noqa: E402
    MAX_PARAM,
    MAX_TAG,
    allowed_name,
    cut,
    flatten,
    join_params,
    split_params,
    unflatten,
)
from harness.store.run_files import check_place, remove_files  # noqa: E402
from harness.store.server_errors import MissingError, mlflow_error, other_error  # noqa: E402

logging.getLogger("mlflow").setLevel(logging.WARNING)  # after its import, which sets it to INFO
logging.getLogger("mlflow.store.db.utils").setLevel(logging.CRITICAL)  # tracebacks of raised errors
for _handler in logging.getLogger("mlflow").handlers:
    _handler.addFilter(MaskFilter())

P = ParamSpec("P")
T = TypeVar("T")
PAGE = 1000
REQUEST_SECONDS = 120.0
"""Longest wait for the answer to one request; shorter if the limit of `outages` is."""


def _translated(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """What a function of MLflow returns; its errors become OSErrors, without the original, whose
    text may hold secrets."""
    try:
        return function(*args, **kwargs)
    except MlflowException as error:
        by_server = isinstance(error, RestException)
        raise mlflow_error(error.message, error.error_code, by_server) from None
    except (SQLAlchemyError, ImportError, OSError) as error:
        raise other_error(error) from None


def _connect(uri: str) -> MlflowClient:
    check_connection(uri)
    return MlflowClient(uri)


class Server:
    """The runs of one MLflow experiment. Every method raises an OSError if MLflow fails, such as a
    server that cannot be reached."""

    def __init__(self, uri: str, experiment: str, artifacts: Path | None) -> None:
        """A tracking server or database, to which the first call connects.

        Args:
            artifacts: folder for the files of a new experiment; null: MLflow's default.
        """
        self.uri, self.experiment, self.artifacts = uri, experiment, artifacts

    @cached_property
    def client(self) -> MlflowClient:
        """MLflow's client."""
        return _waiting(self.uri, _connect, self.uri)

    def _call(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return _waiting(self.uri, function, *args, **kwargs)

    @cached_property
    def experiment_id(self) -> str:
        """Id of the experiment, which is created at first use."""
        if found := self._call(self.client.get_experiment_by_name, self.experiment):
            return str(found.experiment_id)
        location = self.artifacts.as_uri() if self.artifacts else None
        create = partial(self.client.create_experiment, artifact_location=location)
        try:
            return str(self._call(create, self.experiment))
        except OSError:  # another process was faster
            if found := self._call(self.client.get_experiment_by_name, self.experiment):
                return str(found.experiment_id)
            raise

    def restore(self) -> None:
        """Restores the experiment if it was deleted, which MLflow's pages offer; MLflow creates no
        other of its name."""
        found = self._call(self.client.get_experiment_by_name, self.experiment)
        if found and found.lifecycle_stage == "deleted":
            self._call(self.client.restore_experiment, found.experiment_id)

    def search(self, condition: str) -> list[Entry]:
        """Finished runs that meet a condition in MLflow's filter syntax, by start time."""
        runs = self._search(f"attributes.status = 'FINISHED' AND {condition}")
        return sorted(map(entry_of, runs), key=lambda entry: entry.start_time)

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
        return [entry_of(run) for run in finished], [*failed, *deleted]

    def uncounted(self) -> list[Entry]:
        """The runs that have not finished, or failed since."""
        return [entry_of(run) for run in self._search("attributes.status != 'FINISHED'")]

    def has(self, run_id: str) -> bool:
        """Whether there is a run with this id, deleted or not."""
        try:
            self._call(self.client.get_run, run_id)
        except MissingError:
            return False
        return True

    def _search(self, condition: str, view: int = ViewType.ACTIVE_ONLY) -> list[Run]:
        runs: list[Run] = []
        token = None
        while True:
            page = self._call(
                self.client.search_runs,
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
        tags = {name: cut(text, MAX_TAG) for name, text in tags.items()}
        tags[CHECKSUM] = checksum(tags, known, start)
        run = self._call(
            self.client.create_run, self.experiment_id, start, tags, run_name=name
        ).info
        if self.artifacts:
            check_place(run, self.artifacts)
        numbers = [Metric(name, value, start, 0) for name, value in known.items()]
        params = [Param(name, text) for name, text in split_params(flatten(spec)).items()]
        try:
            self._call(self.client.log_batch, run.run_id, metrics=numbers, params=params)
            self._call(self.client.log_artifacts, run.run_id, str(folder))
        except BaseException:  # a full disk, which the copied files would leave full, or Ctrl-C
            remove_files(run)
            raise
        end = self._call(self._finish, run.run_id)
        return Entry(run.run_id, start, end, run.artifact_uri, tags, known)

    def _finish(self, run_id: str) -> int:
        """Marks a run as finished now, not before an outage that is waited for: snapshots look for
        what has ended since their latest run."""
        end = int(1000 * time.time())
        self.client.set_terminated(run_id, end_time=end)
        return end

    def runs(self, condition: str = "") -> list[TrackedRun]:
        """All runs that meet a condition in MLflow's filter syntax, whatever their status."""
        return [
            TrackedRun(run.info.run_id, run.info.status, run.data.tags)
            for run in self._search(condition)
        ]

    def start(self, name: str, tags: Mapping[str, str], start_time: int | None = None) -> str:
        """Id of a new run with the status RUNNING.

        Args:
            tags: `PARENT` nests it below another run.
            start_time: milliseconds since 1970; null: now.
        """
        run = self._call(
            self.client.create_run, self.experiment_id, start_time, dict(tags), run_name=name
        )
        return str(run.info.run_id)

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
        metrics = [Metric(allowed_name(p.name), p.value, p.time, p.step) for p in points]
        texts = {name: str(value) for name, value in flatten(params or {}).items()}
        self._call(
            self.client.log_batch,
            run_id,
            metrics=metrics,
            params=[Param(name, cut(text, MAX_PARAM)) for name, text in texts.items()],
            tags=[RunTag(name, cut(text, MAX_TAG)) for name, text in (tags or {}).items()],
        )

    def set_status(self, run_id: str, status: str, end_time: int | None = None) -> None:
        """Sets RUNNING, or another status and the end.

        Args:
            end_time: milliseconds since 1970; null: now.
        """
        if status == "RUNNING":
            self._call(self.client.update_run, run_id, status)
        else:
            self._call(self.client.set_terminated, run_id, status, end_time)

    def delete(self, run_id: str) -> None:
        """Moves a run to MLflow's trash."""
        self._call(self.client.delete_run, run_id)

    def spec(self, run_id: str) -> dict[str, Any]:
        """The spec of a run, read back from its params."""
        return unflatten(join_params(self._call(self.client.get_run, run_id).data.params))

    def fail(self, run_id: str) -> None:
        """Marks a finished run as failed."""
        self._call(self.client.set_terminated, run_id, status="FAILED")


def make_tables(path: Path) -> None:
    """Creates MLflow's tables in a new SQLite file; an OSError if MLflow fails."""
    uri = sqlite_uri(path)
    _waiting(uri, lambda: MlflowClient(uri).search_experiments(max_results=1))


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
        path = _waiting(
            server or uri, artifacts.download_artifacts, **arguments, dst_path=str(folder)
        )
    except OSError:
        if not _waiting(server or uri, artifacts.list_artifacts, **arguments):
            raise FileNotFoundError(f"there are no files at {uri}") from None
        raise
    return Path(path)


def _waiting(uri: str, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """What a function of MLflow returns; waits for a server that is away.

    Raises:
        OSError: MLflow fails.
    """
    outages = outages_of(uri)
    if outages.limit is not None:  # MLflow's own repetitions are silent; 1 for idle connections
        os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "1")
        longest = max(1, int(min(REQUEST_SECONDS, outages.limit)))
        os.environ.setdefault("MLFLOW_HTTP_REQUEST_TIMEOUT", str(longest))
    return outages.call(partial(_translated, function, *args, **kwargs))
