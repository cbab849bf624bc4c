"""Runs in MLflow. No other module imports mlflow, which takes three seconds; `Store` imports this
one only when needed."""

import ast
import logging
import os
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
logging.getLogger("alembic").setLevel(logging.WARNING)  # a new database logs 80 lines

from mlflow import artifacts  # noqa: E402
from mlflow.entities import Metric, Param, Run, ViewType  # noqa: E402
from mlflow.exceptions import MlflowException  # noqa: E402
from mlflow.tracking import MlflowClient  # noqa: E402

from harness.store.snapshot import Entry  # noqa: E402

logging.getLogger("mlflow").setLevel(logging.WARNING)  # after its import, which sets it to INFO

PAGE = 1000


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

    def search(self, condition: str) -> list[Entry]:
        """Finished runs that meet a condition in MLflow's filter syntax, by start time."""
        runs: list[Run] = []
        token = None
        while True:
            page = self.client.search_runs(
                [self.experiment_id],
                f"attributes.status = 'FINISHED' AND {condition}",
                run_view_type=ViewType.ACTIVE_ONLY,
                max_results=PAGE,
                page_token=token,
            )
            runs.extend(page)
            token = page.token
            if not token:
                return sorted(map(_entry, runs), key=lambda entry: entry.start_time)

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
            params=[Param(k, str(v)) for k, v in flatten(spec).items()],
        )
        self.client.log_artifacts(run_id, str(folder))
        self.client.set_terminated(run_id)
        return _entry(self.client.get_run(run_id))

    def spec(self, run_id: str) -> dict[str, Any]:
        """The spec of a run, read back from its params."""
        return unflatten(self.client.get_run(run_id).data.params)

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


def flatten(spec: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested mappings as one flat mapping with dotted names, for MLflow's params."""
    flat: dict[str, Any] = {}
    for name, value in spec.items():
        path = f"{prefix}{name}"
        flat.update(flatten(value, f"{path}.") if isinstance(value, Mapping) else {path: value})
    return flat


def unflatten(params: Mapping[str, str]) -> dict[str, Any]:
    """The inverse of `flatten`, from values that MLflow has turned into text.

    Text that reads as a Python literal (a number, a list, None) becomes that value.
    """
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
