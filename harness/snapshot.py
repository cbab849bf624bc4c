"""What a local store's finished runs say, beside the store in one small database: reading 20,000
runs from MLflow takes half a minute, from here less than a second.

Whether a run still counts is asked of the store each time (`Store`); this holds what it said when
it ended, for that never changes. The file may be deleted at any time and is made again.
"""

import json
import math
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

TABLE = """
create table if not exists runs (
    run_id text primary key, mark text, start_time integer, end_time integer,
    artifact_uri text, tags text, metrics text)
"""
COLUMNS = "run_id, mark, start_time, end_time, artifact_uri, tags, metrics"
CHUNK = 500
"""Runs that one query names."""
WAIT_SECONDS = 60
"""How long one process waits while another writes."""


@dataclass(frozen=True)
class Entry:
    """A finished run."""

    run_id: str
    mark: str
    """Name of the tag that says what kind of run it is; empty for one that is not the harness's."""
    start_time: int
    end_time: int
    """Milliseconds since 1970."""
    artifact_uri: str
    tags: Mapping[str, str]
    metrics: Mapping[str, float]


class Snapshot:
    """The entries in one SQLite file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def ends(self) -> dict[str, int]:
        """Run id to end time of every entry; a file that is damaged is thrown away."""
        try:
            with self._open() as database:
                return dict(database.execute("select run_id, end_time from runs").fetchall())
        except sqlite3.DatabaseError:
            self.path.unlink(missing_ok=True)
            return {}

    def update(self, gone: Iterable[str], new: Iterable[Entry]) -> None:
        """Takes runs out, and others in, all at once."""
        rows = [
            (
                *(e.run_id, e.mark, e.start_time, e.end_time, e.artifact_uri),
                *(json.dumps(dict(e.tags)), json.dumps(dict(e.metrics))),
            )
            for e in new
        ]
        with self._open() as database, database:
            database.executemany("delete from runs where run_id = ?", [(run,) for run in gone])
            marks = ", ".join("?" * len(COLUMNS.split(",")))
            database.executemany(f"insert or replace into runs values ({marks})", rows)

    def entries(self, mark: str) -> list[Entry]:
        """Those with this mark, by start time."""
        query = f"select {COLUMNS} from runs where mark = ? order by start_time, run_id"
        with self._open() as database:
            rows = database.execute(query, (mark,)).fetchall()
        return [
            Entry(run, kind, start, end, uri, json.loads(tags), json.loads(metrics))
            for run, kind, start, end, uri, tags, metrics in rows
        ]

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(self.path, timeout=WAIT_SECONDS)) as database:
            database.execute(TABLE)
            yield database


def mark_of(tags: Mapping[str, str], marks: Sequence[str]) -> str:
    """The first of the marks that a run has; empty if it has none."""
    return next((mark for mark in marks if tags.get(mark)), "")


def finished_runs(database: Path, experiment_id: str) -> dict[str, int]:
    """Run id to end time of the runs that count, from MLflow's own tables: finished, not deleted.

    Raises:
        sqlite3.DatabaseError: the tables are not those of MLflow as it is known here.
    """
    query = """
        select run_uuid, end_time from runs
        where experiment_id = ? and status = 'FINISHED' and lifecycle_stage = 'active'
    """
    with _mlflow(database) as connection:
        return dict(connection.execute(query, (experiment_id,)).fetchall())


def read_entries(database: Path, runs: Iterable[str], marks: Sequence[str]) -> list[Entry]:
    """The entries of runs, from MLflow's own tables; its search takes twenty times as long.

    Raises:
        sqlite3.DatabaseError: the tables are not those of MLflow as it is known here.
    """
    ids = list(runs)
    found: list[Entry] = []
    with _mlflow(database) as connection:
        for first in range(0, len(ids), CHUNK):
            found += _read_some(connection, ids[first : first + CHUNK], marks)
    return found


def _read_some(
    connection: sqlite3.Connection, ids: Sequence[str], marks: Sequence[str]
) -> Iterator[Entry]:
    these = f"where run_uuid in ({', '.join('?' * len(ids))})"
    tags: dict[str, dict[str, str]] = {run: {} for run in ids}
    metrics: dict[str, dict[str, float]] = {run: {} for run in ids}
    for run, name, text in connection.execute(
        f"select run_uuid, key, value from tags {these}", ids
    ):
        tags[run][name] = text
    query = f"select run_uuid, key, value, is_nan from latest_metrics {these}"
    for run, name, value, is_nan in connection.execute(query, ids):
        metrics[run][name] = math.nan if is_nan else value
    query = f"select run_uuid, start_time, end_time, artifact_uri from runs {these}"
    for run, start, end, uri in connection.execute(query, ids):
        yield Entry(run, mark_of(tags[run], marks), start, end, uri, tags[run], metrics[run])


@contextmanager
def _mlflow(database: Path) -> Iterator[sqlite3.Connection]:
    """MLflow's tables, to be read only."""
    address = f"{database.absolute().as_uri()}?mode=ro"
    with closing(sqlite3.connect(address, uri=True, timeout=WAIT_SECONDS)) as connection:
        yield connection
