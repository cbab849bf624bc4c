"""Runs in MLflow. No other module imports mlflow, which takes three seconds; `Store` imports this
one only when needed."""

import logging
import os
import re
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
logging.getLogger("alembic").setLevel(logging.WARNING)  # a new database logs 80 lines

from mlflow import artifacts  # noqa: E402
from mlflow.entities import Metric, Param, Run, RunTag, ViewType  # noqa: E402
from mlflow.exceptions import MlflowException  # noqa: E402
from mlflow.tracking import MlflowClient  # noqa: E402

from harness.store.params import (  # noqa: E402
    MAX_PARAM,
    flatten,
    join_params,
    split_params,
    unflatten,
)
from harness.store.snapshot import Entry, Point, TrackedRun  # noqa: E402

logging.getLogger("mlflow").setLevel(logging.WARNING)  # after its import, which sets it to INFO

PAGE = 1000
MAX_TAG = 8000
"""Characters of a tag, beyond which MLflow cuts it silently."""


class Server:
    """The runs of one MLflow experiment."""

    def __init__(self, uri: str, experiment: str, artifacts: Path | None) -> None:
        """Connects to a tracking server or database.

        Args:
            artifacts: folder for the files of a new experiment; null: MLflow's default.
        """
        self.client = MlflowClient(uri)
        self.experiment, self.artifacts = experiment, artifacts

    @cached_property
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

    def _search(self, condition: str) -> list[Run]:
        runs: list[Run] = []
        token = None
        while True:
            page = self.client.search_runs(
                [self.experiment_id],
                condition,
                run_view_type=ViewType.ACTIVE_ONLY,
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
        run = self.client.create_run(self.experiment_id, run_name=name, tags=dict(tags))
        run_id = run.info.run_id
        stamp = run.info.start_time
        self.client.log_batch(
            run_id,
            metrics=[Metric(k, float(v), stamp, 0) for k, v in metrics.items() if v is not None],
            params=[Param(k, v) for k, v in split_params(flatten(spec)).items()],
        )
        self.client.log_artifacts(run_id, str(folder))
        self.client.set_terminated(run_id)
        return _entry(self.client.get_run(run_id))

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
        run = self.client.create_run(self.experiment_id, start_time, dict(tags), run_name=name)
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
        metrics = [Metric(_allowed(p.name), p.value, p.time, p.step) for p in points]
        texts = {name: str(value) for name, value in flatten(params or {}).items()}
        self.client.log_batch(
            run_id,
            metrics=metrics,
            params=[Param(name, _cut(text, MAX_PARAM)) for name, text in texts.items()],
            tags=[RunTag(name, _cut(text, MAX_TAG)) for name, text in (tags or {}).items()],
        )

    def set_status(self, run_id: str, status: str, end_time: int | None = None) -> None:
        """Sets RUNNING, or another status and the end.

        Args:
            end_time: milliseconds since 1970; null: now.
        """
        if status == "RUNNING":
            self.client.update_run(run_id, status)
        else:
            self.client.set_terminated(run_id, status, end_time)

    def delete(self, run_id: str) -> None:
        """Moves a run to MLflow's trash."""
        self.client.delete_run(run_id)

    def spec(self, run_id: str) -> dict[str, Any]:
        """The spec of a run, read back from its params."""
        return unflatten(join_params(self.client.get_run(run_id).data.params))

    def fail(self, run_id: str) -> None:
        """Marks a finished run as failed."""
        self.client.set_terminated(run_id, status="FAILED")


def make_tables(path: Path) -> None:
    """Creates MLflow's tables in a new SQLite file."""
    MlflowClient(sqlite_uri(path)).search_experiments(max_results=1)


def sqlite_uri(path: Path) -> str:
    """MLflow's tracking URI of a SQLite file."""
    return f"sqlite:///{path}"


def download(uri: str) -> Path:
    """A local folder with the downloaded files of a run.

    Raises:
        OSError: the download fails.
    """
    try:
        return Path(artifacts.download_artifacts(artifact_uri=uri))
    except MlflowException as error:
        raise OSError(str(error)) from None


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
