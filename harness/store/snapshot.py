"""A cache of a store's finished runs in one small database: reading 20,000 runs takes less than a
second, through MLflow half a minute.

Tags and metrics of a finished run never change; whether it still counts is looked up in MLflow's
tables each time (`Store`). Rows have checksums, and a file with a damaged row is deleted: it is
created again. Where it cannot be written, the store is read without it.
"""

import json
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

from harness.core.sqlite_files import DAMAGE, connected, error_code
from harness.store.entries import Entry

TABLE = """
create table if not exists runs (
    run_id text primary key, mark text, name text, start_time integer, end_time integer,
    artifact_uri text, tags text, metrics text, checksum integer)
"""
COLUMNS = "run_id, mark, name, start_time, end_time, artifact_uri, tags, metrics"
UNREADABLE = {*DAMAGE, sqlite3.SQLITE_ERROR}
"""Codes of errors of a file that is damaged or has another table."""


class Row(NamedTuple):
    """A finished run."""

    run_id: str
    mark: str
    """The one tag by which it is looked up, and its value; empty if it has none."""
    name: str
    start_time: int
    end_time: int
    """Milliseconds since 1970."""
    artifact_uri: str
    tags: str
    """As JSON, like the metrics."""
    metrics: str

    @classmethod
    def of(cls, entry: Entry, marks: Sequence[str]) -> "Row":
        """The row of a run, which has at most one of the tags `marks`."""
        return cls(
            entry.run_id,
            *_mark(entry.tags, marks),
            entry.start_time,
            entry.end_time,
            entry.artifact_uri,
            json.dumps(dict(entry.tags)),
            json.dumps(dict(entry.metrics)),
        )

    @property
    def entry(self) -> Entry:
        """The run."""
        run, _, _, start, end, uri, tags, metrics = self
        return Entry(run, start, end, uri, json.loads(tags), json.loads(metrics))


class Snapshot:
    """Rows in one SQLite file, if it can be read and written."""

    def __init__(self, path: Path, marks: Sequence[str]) -> None:
        """The file is created at first use.

        Args:
            marks: tags by which runs are looked up. A run has at most one of them, with its name as
                the value.
        """
        self.path, self.marks = path, marks

    def rows(self) -> dict[str, Row]:
        """Run id to row; none of a file that is damaged, which is deleted, or cannot be read."""
        try:
            with self._open() as database:
                found = database.execute(f"select {COLUMNS}, checksum from runs").fetchall()
        except sqlite3.Error as error:
            if error_code(error) in UNREADABLE:
                self.discard()
            return {}
        if any(_checksum(values) != known for *values, known in found):
            self.discard()
            return {}
        return {values[0]: Row(*values) for *values, _ in found}

    def update(self, gone: Iterable[str], new: Iterable[Row]) -> None:
        """Removes runs with the ids `gone` and adds or replaces `new`, in one transaction, if the
        file can be written."""
        rows = [(*row, _checksum(row)) for row in new]
        marks = ", ".join("?" * (len(COLUMNS.split(",")) + 1))
        with suppress(sqlite3.Error), self._open() as database, database:
            database.executemany("delete from runs where run_id = ?", [(run,) for run in gone])
            database.executemany(f"insert or replace into runs values ({marks})", rows)

    def discard(self) -> None:
        """Deletes the file."""
        with suppress(OSError):
            self.path.unlink(missing_ok=True)

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        with connected(self.path) as database:
            database.execute(TABLE)
            yield database


def entries(rows: Iterable[Row], mark: str, names: Collection[str] | None = None) -> list[Entry]:
    """The runs with a mark.

    Args:
        names: values of the mark; null: all.
    """
    return [one.entry for one in rows if one.mark == mark and (names is None or one.name in names)]


def _checksum(values: Sequence[object]) -> int:
    return crc32(repr(tuple(values)).encode())


def _mark(tags: Mapping[str, str], marks: Sequence[str]) -> tuple[str, str]:
    """The first of the marks that a run has, and its value; empty if it has none."""
    return next(((mark, tags[mark]) for mark in marks if tags.get(mark)), ("", ""))
