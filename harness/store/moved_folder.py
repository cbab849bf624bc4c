"""Local stores that were moved or copied: MLflow keeps absolute addresses of files."""

import sqlite3
from pathlib import Path

from harness.core.sqlite_files import connected, read_only
from harness.store.artifacts import resolve

LOCATION = "select artifact_location from experiments where name = ?"
COLUMNS = {"experiments": "artifact_location", "runs": "artifact_uri"}
"""Table of MLflow to its column with an address below the folder of files."""


def correct_addresses(database: Path, experiment: str, artifacts: Path) -> bool:
    """Makes MLflow's addresses point to the files beside the database, wherever the folder was when
    they were written. Other paths to the same folder, such as links, are left alone.

    Args:
        database: MLflow's SQLite file.
        experiment: an MLflow experiment of the store.
        artifacts: the folder of files beside the database.

    Returns:
        Whether addresses were changed; not in a file that is missing, read-only or of another
        version of MLflow.
    """
    try:
        return database.exists() and _correct(database, experiment, artifacts)
    except sqlite3.DatabaseError:
        return False


def _correct(database: Path, experiment: str, artifacts: Path) -> bool:
    new = artifacts.as_uri()
    with read_only(database) as connection:
        row = connection.execute(LOCATION, (experiment,)).fetchone()
    if row is None or not isinstance(row[0], str) or row[0] == new:
        return False
    if not artifacts.is_dir() or _is_same(row[0], artifacts):
        return False
    with connected(database) as connection, connection:
        for table, column in COLUMNS.items():
            connection.execute(
                f"update {table} set {column} = ? || substr({column}, ?) "
                f"where substr({column}, 1, ?) = ?",
                (new, len(row[0]) + 1, len(row[0]), row[0]),
            )
    return True


def _is_same(location: str, artifacts: Path) -> bool:
    if not location.startswith("file:"):
        return True  # files elsewhere were not moved with the database
    old = resolve(location)
    return old.exists() and old.samefile(artifacts)
