"""Reads MLflow's tables in a SQLite file: its own search takes twenty times as long.

Every function raises a `sqlite3.DatabaseError` if the file is damaged, or if another version of
MLflow has other tables.
"""

import math
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from harness.core.sqlite_files import read_only
from harness.store.entries import Entry, TrackedRun

CHUNK = 500
"""Runs per query."""


def finished_runs(database: Path, experiment: str) -> dict[str, int]:
    """Run id to end time of an experiment's finished runs that are not deleted."""
    query = """
        select run_uuid, end_time from runs join experiments using (experiment_id)
        where experiments.name = ? and status = 'FINISHED' and runs.lifecycle_stage = 'active'
    """
    with read_only(database) as connection:
        return dict(connection.execute(query, (experiment,)).fetchall())


def find_finished(
    database: Path, experiment: str, tag: str, value: str | None = None
) -> list[Entry]:
    """The finished runs of an experiment with a tag of this value; faster than the snapshot for
    tags that few runs have.

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
    with read_only(database) as connection:
        found = connection.execute(query, (tag, value or "", experiment)).fetchall()
    return read_entries(database, [run for (run,) in found])


def uncounted_runs(database: Path, experiment: str) -> list[Entry]:
    """The runs of an experiment that have not finished, or failed since."""
    query = """
        select run_uuid from runs join experiments using (experiment_id)
        where experiments.name = ? and status != 'FINISHED' and runs.lifecycle_stage = 'active'
    """
    with read_only(database) as connection:
        found = connection.execute(query, (experiment,)).fetchall()
    return read_entries(database, [run for (run,) in found])


def tracked_runs(database: Path, experiment: str) -> list[TrackedRun]:
    """The runs of an experiment that are not deleted, whatever their status.

    Args:
        database: MLflow's SQLite file.
        experiment: MLflow's name of the experiment.
    """
    query = """
        select run_uuid, status, key, value
        from runs join experiments using (experiment_id) join tags using (run_uuid)
        where experiments.name = ? and runs.lifecycle_stage = 'active'
            and experiments.lifecycle_stage = 'active'
    """
    runs: dict[str, TrackedRun] = {}
    tags: dict[str, dict[str, str]] = {}
    with read_only(database) as connection:
        for run, status, name, text in connection.execute(query, (experiment,)):
            tags.setdefault(run, {})[name] = text
            runs.setdefault(run, TrackedRun(run, status, tags[run]))
    return list(runs.values())


def read_entries(database: Path, runs: Iterable[str]) -> list[Entry]:
    """The entries of the runs with these ids, damaged ones included."""
    ids = list(runs)
    chunks = [ids[first : first + CHUNK] for first in range(0, len(ids), CHUNK)]
    with read_only(database) as connection:
        return [entry for chunk in chunks for entry in _read_chunk(connection, chunk)]


def read_params(database: Path, runs: Sequence[str]) -> dict[str, dict[str, str]]:
    """Run id to params."""
    params: dict[str, dict[str, str]] = defaultdict(dict)  # damaged tables may name other runs
    with read_only(database) as connection:
        for first in range(0, len(runs), CHUNK):
            ids = runs[first : first + CHUNK]
            where = f"where run_uuid in ({', '.join('?' * len(ids))})"
            query = f"select run_uuid, key, value from params {where}"
            for run, name, text in connection.execute(query, ids):
                params[run][name] = text
    return params


def _read_chunk(connection: sqlite3.Connection, ids: Sequence[str]) -> Iterator[Entry]:
    where = f"where run_uuid in ({', '.join('?' * len(ids))})"
    tags: dict[str, dict[str, str]] = defaultdict(dict)  # damaged tables may name other runs
    metrics: dict[str, dict[str, float]] = defaultdict(dict)
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
