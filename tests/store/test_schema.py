"""The version of MLflow's tables: found, and refused before results are computed."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from harness.store import schema
from harness.store.schema import schema_problem
from harness.store.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store(tmp_path / "runs")
    store.tracking("study")  # makes the tables
    return store


def change(store: Store, version: str) -> None:
    with closing(sqlite3.connect(store.runs.database)) as database, database:
        database.execute("update alembic_version set version_num = ?", (version,))


def test_tables_of_the_installed_version(store: Store) -> None:
    assert len(schema._revisions()) > 10
    assert schema_problem(store.runs.database) is None
    store.create_folder()


def test_tables_of_other_versions_are_refused_before_a_run(store: Store) -> None:
    """Its stages were computed, and none could be recorded."""
    older = next(before for before in schema._revisions().values() if before)
    change(store, older)
    with pytest.raises(ValueError, match=rf"tables {older} of another version .*: copy .*upgrade"):
        store.create_folder()
    change(store, "abc123")
    with pytest.raises(ValueError, match=r"tables abc123 .*: install the version of MLflow"):
        store.create_folder()
    assert Store(store.root).finished() == {}  # it can be read


def test_tables_that_cannot_be_written_are_refused(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root may write all files, so that the answer is made up."""
    monkeypatch.setattr("os.access", lambda path, mode: path != store.runs.database)
    with pytest.raises(ValueError, match=r"mlflow.db must be writable, but is not"):
        store.create_folder()
