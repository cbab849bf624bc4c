"""What a local store's finished runs say, beside the store in one small database: reading 20,000
runs from MLflow takes half a minute, from here less than a second.

Whether a run still counts is asked of the store each time (`Store`); this holds what it said when
it ended, for that never changes. The file may be deleted at any time and is made again.
"""

import json
import math
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

TABLE = """
create table if not exists runs (
    run_id text primary key, mark text, name text, start_time integer, end_time integer,
    artifact_uri text, tags text, metrics text)
"""
COLUMNS = "run_id, mark, name, start_time, end_time, artifact_uri, tags, metrics"
CHUNK = 500
"""Runs that one query names."""
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


class Snapshot:
    """The entries in one SQLite file."""

    def __init__(self, path: Path, marks: Sequence[str]) -> None:
        """`marks` are the tags that say what kind of run one is, and name it."""
        self.path, self.marks = path, marks

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
        """Those with this mark, or of these only what `names` names, by start time."""
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
    """The first of the marks that a run has, and what it says; empty if it has none."""
    return next(((mark, tags[mark]) for mark in marks if tags.get(mark)), ("", ""))


def finished_runs(database: Path, experiment: str) -> dict[str, int]:
    """Run id to end time of an experiment's runs that count, from MLflow's own tables: finished,
    not deleted.

    Raises:
        sqlite3.DatabaseError: the tables are not those of MLflow as it is known here.
    """
    query = """
        select run_uuid, end_time from runs join experiments using (experiment_id)
        where experiments.name = ? and status = 'FINISHED' and runs.lifecycle_stage = 'active'
    """
    with _mlflow(database) as connection:
        return dict(connection.execute(query, (experiment,)).fetchall())


def read_entries(database: Path, runs: Iterable[str]) -> list[Entry]:
    """The entries of runs, from MLflow's own tables; its search takes twenty times as long.

    Raises:
        sqlite3.DatabaseError: the tables are not those of MLflow as it is known here.
    """
    ids = list(runs)
    found: list[Entry] = []
    with _mlflow(database) as connection:
        for first in range(0, len(ids), CHUNK):
            found += _read_some(connection, ids[first : first + CHUNK])
    return found


def _read_some(connection: sqlite3.Connection, ids: Sequence[str]) -> Iterator[Entry]:
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
        yield Entry(run, start, end, uri, tags[run], metrics[run])


@contextmanager
def _mlflow(database: Path) -> Iterator[sqlite3.Connection]:
    """MLflow's tables, to be read only."""
    address = f"{database.absolute().as_uri()}?mode=ro"
    with closing(sqlite3.connect(address, uri=True, timeout=WAIT_SECONDS)) as connection:
        yield connection
