"""A cache of a local store's finished runs in one small database: reading 20,000 runs takes less
than a second, through MLflow half a minute.

Tags and metrics of a finished run never change; whether it still counts is looked up in MLflow's
tables each time (`Store`). The file can be deleted at any time and is created again.
"""

import json
import math
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

TABLE = """
create table if not exists runs (
    run_id text primary key, mark text, name text, start_time integer, end_time integer,
    artifact_uri text, tags text, metrics text)
"""
COLUMNS = "run_id, mark, name, start_time, end_time, artifact_uri, tags, metrics"
CHUNK = 500
"""Runs per query."""
WAIT_SECONDS = 60
"""How long one process waits while another writes."""


@dataclass(frozen=True)
class Entry:
    """A finished run."""

    run_id: str
    start_time: int
    end_time: int
    """Milliseconds since 1970."""
    artifact_uri: str
    tags: Mapping[str, str]
    metrics: Mapping[str, float]


@dataclass(frozen=True)
class TrackedRun:
    """A run of a study's MLflow experiment; see `harness.execution.tracker`."""

    run_id: str
    status: str
    """MLflow's: RUNNING, FINISHED, FAILED or KILLED."""
    tags: Mapping[str, str]


class Point(NamedTuple):
    """A value of a metric."""

    name: str
    value: float
    time: int
    """Milliseconds since 1970."""
    step: int


class Snapshot:
    """Entries in one SQLite file."""

    def __init__(self, path: Path, marks: Sequence[str]) -> None:
        """Creates the file at first use.

        Args:
            marks: tags by which entries are looked up. A run has at most one of them, with its name
                as the value.
        """
        self.path, self.marks = path, marks

    def ends(self) -> dict[str, int]:
        """Run id to end time of every entry; a damaged file is deleted."""
        try:
            with self._open() as database:
                return dict(database.execute("select run_id, end_time from runs").fetchall())
        except sqlite3.DatabaseError:
            self.path.unlink(missing_ok=True)
            return {}

    def update(self, gone: Iterable[str], new: Iterable[Entry]) -> None:
        """Removes runs with the ids `gone` and adds or replaces `new`, in one transaction."""
        rows = [
            (
                *(e.run_id, *_mark(e.tags, self.marks), e.start_time, e.end_time, e.artifact_uri),
                *(json.dumps(dict(e.tags)), json.dumps(dict(e.metrics))),
            )
            for e in new
        ]
        with self._open() as database, database:
            database.executemany("delete from runs where run_id = ?", [(run,) for run in gone])
            marks = ", ".join("?" * len(COLUMNS.split(",")))
            database.executemany(f"insert or replace into runs values ({marks})", rows)

    def entries(self, mark: str, names: Collection[str] | None = None) -> list[Entry]:
        """The entries with this mark, by start time.

        Args:
            names: values of the mark; null: all.
        """
        query = f"select {COLUMNS} from runs where mark = ? order by start_time, run_id"
        with self._open() as database:
            rows = database.execute(query, (mark,)).fetchall()
        return [
            Entry(run, start, end, uri, json.loads(tags), json.loads(metrics))
            for run, _, name, start, end, uri, tags, metrics in rows
            if names is None or name in names
        ]

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(self.path, timeout=WAIT_SECONDS)) as database:
            database.execute(TABLE)
            yield database


def _mark(tags: Mapping[str, str], marks: Sequence[str]) -> tuple[str, str]:
    """The first of the marks that a run has, and its value; empty if it has none."""
    return next(((mark, tags[mark]) for mark in marks if tags.get(mark)), ("", ""))


def finished_runs(database: Path, experiment: str) -> dict[str, int]:
    """Run id to end time of an experiment's finished runs that are not deleted; for arguments and
    errors, see `tracked_runs`."""
    query = """
        select run_uuid, end_time from runs join experiments using (experiment_id)
        where experiments.name = ? and status = 'FINISHED' and runs.lifecycle_stage = 'active'
    """
    with _mlflow(database) as connection:
        return dict(connection.execute(query, (experiment,)).fetchall())


def find_finished(
    database: Path, experiment: str, tag: str, value: str | None = None
) -> list[Entry]:
    """The finished runs of an experiment with a tag of this value, by start time; for errors, see
    `tracked_runs`. Faster than the snapshot for tags that few runs have.

    Args:
        value: null: any but the empty one.
    """
    # The cross join begins with the tags, which have an index.
    query = f"""
        select run_uuid from tags cross join runs using (run_uuid) join experiments
            using (experiment_id)
        where tags.key = ? and tags.value {"!=" if value is None else "="} ?
            and experiments.name = ? and status = 'FINISHED' and runs.lifecycle_stage = 'active'
    """
    with _mlflow(database) as connection:
        found = connection.execute(query, (tag, value or "", experiment)).fetchall()
    entries = read_entries(database, [run for (run,) in found])
    return sorted(entries, key=lambda one: (one.start_time, one.run_id))


def tracked_runs(database: Path, experiment: str) -> list[TrackedRun]:
    """The runs of an experiment that are not deleted, whatever their status.

    Args:
        database: MLflow's SQLite file.
        experiment: MLflow's name of the experiment.

    Raises:
        sqlite3.DatabaseError: this version of MLflow has other tables.
    """
    query = """
        select run_uuid, status, key, value
        from runs join experiments using (experiment_id) join tags using (run_uuid)
        where experiments.name = ? and runs.lifecycle_stage = 'active'
            and experiments.lifecycle_stage = 'active'
    """
    runs: dict[str, TrackedRun] = {}
    tags: dict[str, dict[str, str]] = {}
    with _mlflow(database) as connection:
        for run, status, name, text in connection.execute(query, (experiment,)):
            tags.setdefault(run, {})[name] = text
            runs.setdefault(run, TrackedRun(run, status, tags[run]))
    return list(runs.values())


def read_entries(database: Path, runs: Iterable[str]) -> list[Entry]:
    """The entries of runs, read from MLflow's tables; its search takes twenty times as long.

    Args:
        database: MLflow's SQLite file.
        runs: run ids.

    Raises:
        sqlite3.DatabaseError: this version of MLflow has other tables.
    """
    ids = list(runs)
    chunks = [ids[first : first + CHUNK] for first in range(0, len(ids), CHUNK)]
    with _mlflow(database) as connection:
        return [entry for chunk in chunks for entry in _read_chunk(connection, chunk)]


def read_params(database: Path, runs: Sequence[str]) -> dict[str, dict[str, str]]:
    """Run id to params; for arguments and errors, see `read_entries`."""
    params: dict[str, dict[str, str]] = {run: {} for run in runs}
    with _mlflow(database) as connection:
        for first in range(0, len(runs), CHUNK):
            ids = runs[first : first + CHUNK]
            where = f"where run_uuid in ({', '.join('?' * len(ids))})"
            query = f"select run_uuid, key, value from params {where}"
            for run, name, text in connection.execute(query, ids):
                params[run][name] = text
    return params


def _read_chunk(connection: sqlite3.Connection, ids: Sequence[str]) -> Iterator[Entry]:
    where = f"where run_uuid in ({', '.join('?' * len(ids))})"
    tags: dict[str, dict[str, str]] = {run: {} for run in ids}
    metrics: dict[str, dict[str, float]] = {run: {} for run in ids}
    for run, name, text in connection.execute(
        f"select run_uuid, key, value from tags {where}", ids
    ):
        tags[run][name] = text
    query = f"select run_uuid, key, value, is_nan from latest_metrics {where}"
    for run, name, value, is_nan in connection.execute(query, ids):
        metrics[run][name] = math.nan if is_nan else value
    query = f"select run_uuid, start_time, end_time, artifact_uri from runs {where}"
    for run, start, end, uri in connection.execute(query, ids):
        yield Entry(run, start, end, uri, tags[run], metrics[run])


@contextmanager
def _mlflow(database: Path) -> Iterator[sqlite3.Connection]:
    """A read-only connection to MLflow's tables."""
    address = f"{database.absolute().as_uri()}?mode=ro"
    with closing(sqlite3.connect(address, uri=True, timeout=WAIT_SECONDS)) as connection:
        yield connection
