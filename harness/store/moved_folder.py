"""Local stores that were moved or copied: MLflow keeps absolute addresses of files."""

import sqlite3
from pathlib import Path

from harness.core.sqlite_files import connected, read_only
from harness.store.artifacts import resolve

LOCATION = "select artifact_location from experiments where name = ?"
HAS_FILES = """
    select exists(select 1 from runs join experiments using (experiment_id)
        where experiments.name = ? and status = 'FINISHED')
"""
COLUMNS = {"experiments": "artifact_location", "runs": "artifact_uri"}
"""Table of MLflow to its column with an address below the folder of files."""


def former_address(database: Path, experiment: str, artifacts: Path) -> str:
    """The address of the files of a store before its folder was moved or copied; empty if MLflow's
    addresses are those of the files beside the database. Other paths to the same folder, such as
    links, are left alone.

    Args:
        database: MLflow's SQLite file; it may be missing, or of another version of MLflow.
        experiment: an MLflow experiment of the store.
        artifacts: the folder of files beside the database.
    """
    if not database.exists():
        return ""
    try:
        with read_only(database) as connection:
            row = connection.execute(LOCATION, (experiment,)).fetchone()
            (has_files,) = connection.execute(HAS_FILES, (experiment,)).fetchone()
    except sqlite3.DatabaseError:
        return ""
    if row is None or not isinstance(row[0], str) or row[0] == artifacts.as_uri():
        return ""
    is_whole = artifacts.is_dir() or not has_files  # else the files are not beside the database
    return row[0] if is_whole and not _is_same(row[0], artifacts) else ""


def correct_addresses(database: Path, former: str, artifacts: Path) -> bool:
    """Makes MLflow's addresses point to the files beside the database.

    Args:
        former: a `former_address`.

    Returns:
        Whether they were changed; not in a file that cannot be written.
    """
    new = artifacts.as_uri()
    try:
        with connected(database) as connection, connection:
            for table, column in COLUMNS.items():
                connection.execute(
                    f"update {table} set {column} = ? || substr({column}, ?) "
                    f"where substr({column}, 1, ?) = ?",
                    (new, len(former) + 1, len(former), former),
                )
    except sqlite3.DatabaseError:
        return False
    return True


def _is_same(location: str, artifacts: Path) -> bool:
    if not location.startswith("file:"):
        return True  # files elsewhere were not moved with the database
    old = resolve(location)
    return old.exists() and artifacts.exists() and old.samefile(artifacts)
