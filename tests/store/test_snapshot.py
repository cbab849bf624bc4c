"""The snapshot agrees with MLflow, also after runs are added, failed, deleted or restored."""

import math
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from harness.store import mlflow_tables, snapshot_updates
from harness.store.entries import IMPORT, KEY, NAME, Entry
from harness.store.snapshot import COLUMNS, Row, Snapshot, entries
from harness.store.store import StageResult, Store, _record


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with two stages and an experiment."""
    root = tmp_path_factory.mktemp("runs")
    (root / "out").mkdir()
    store = Store(root)
    for key in ("k1", "k2"):
        store.record(key, "pretrain", "x", {}, {"loss": 0.5}, root / "out")
    store.record_experiment("one", "micro-glue-v1", root / "out")
    return root


def searched(store: Store) -> dict[str, StageResult]:
    """Finished stages by MLflow's own search."""
    found = store._server.search(f"tags.`{KEY}` != ''")
    return {record.key: record for record in map(_record, found)}


def test_agrees_with_mlflow_after_every_change(made: Path) -> None:
    store = Store(made)
    assert store.finished() == searched(store)
    assert set(store.finished(["k2"])) == {"k2"}
    assert set(store.experiments()) == {"one"}
    other = Store(made)
    third = other.record("k3", "tokens", "x", {}, {}, made / "out")
    assert store.finished() == searched(store)
    assert "k3" in store.finished()
    other.forget(third)
    assert "k3" not in store.finished()
    run = store.finished()["k2"].run_id
    other._server.client.delete_run(run)
    assert set(store.finished()) == {"k1"}
    other._server.client.restore_run(run)
    assert store.finished() == searched(store)
    assert set(store.finished()) == {"k1", "k2"}


def test_experiments_and_imports_agree_with_mlflow(made: Path) -> None:
    store = Store(made)
    store.record_import("a.parquet", made / "out")
    for tag in (NAME, IMPORT):
        assert store.runs.tagged(tag) == store._server.search(f"tags.`{tag}` != ''")
    gone = store.runs.tagged(IMPORT)[0]
    store._server.fail(gone.run_id)
    assert store.imports() == {}


def test_runs_are_read_in_chunks(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(made)
    monkeypatch.setattr(mlflow_tables, "CHUNK", 1)
    store.runs.snapshot.discard()
    assert store.finished() == searched(store)


def test_only_new_runs_are_read(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(made)
    expected = store.finished()

    def never(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(snapshot_updates, "read_entries", never)
    monkeypatch.setattr(store._server, "search", never)
    assert store.finished() == expected


def test_an_undefined_metric_stays_undefined(made: Path) -> None:
    store = Store(made)
    record = store.record("nan", "tokens", "x", {}, {"loss": math.nan}, made / "out")
    assert math.isnan(store.finished()["nan"].metrics["loss"])
    store.forget(record)


def test_can_be_deleted_or_damaged(made: Path) -> None:
    store = Store(made)
    path = store.runs.snapshot.path
    expected = store.finished()
    path.unlink()
    assert store.finished() == expected
    path.write_bytes(b"no database" * 100)
    assert store.finished() == expected
    assert path.read_bytes().startswith(b"SQLite")


def test_unknown_tables_are_read_through_mlflow(
    made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(made)
    expected = store.finished()

    def renamed(*_: object) -> dict[str, int]:
        raise sqlite3.OperationalError("no such column")

    monkeypatch.setattr(snapshot_updates, "finished_runs", renamed)
    assert store.finished() == expected
    assert set(store.experiments()) == {"one"}


def test_rows_are_added_replaced_and_removed(tmp_path: Path) -> None:
    late, early, other = (
        Row.of(Entry(run, start, start + 1, "file:///x", tags, {"loss": 0.25}), ["key"])
        for run, tags, start in (("r1", {"key": "a"}, 5), ("r2", {"key": "b"}, 3), ("r3", {}, 1))
    )
    snapshot = Snapshot(tmp_path / "s.db", ["key"])
    snapshot.update([], [late, early, other])
    assert snapshot.rows() == {"r1": late, "r2": early, "r3": other}
    assert entries(snapshot.rows().values(), "key") == [late.entry, early.entry]
    assert entries(snapshot.rows().values(), "key", {"a", "c"}) == [late.entry]
    again = late._replace(end_time=9)
    snapshot.update(["r2"], [again])
    assert snapshot.rows() == {"r1": again, "r3": other}


@pytest.mark.parametrize("column", [*COLUMNS.split(", "), "checksum"])
def test_a_changed_row_is_read_again(made: Path, column: str) -> None:
    store = Store(made)
    expected = store.finished()
    with closing(sqlite3.connect(store.runs.snapshot.path)) as database, database:
        changed = f"cast(replace({column}, '0', '1') as text) || '1'"
        database.execute(f"update runs set {column} = {changed} where name = 'k1'")
        assert database.total_changes == 1
    assert store.finished() == expected
    assert len(store.runs.snapshot.rows()) >= len(expected)


def test_a_snapshot_that_cannot_be_written_is_not_needed(
    made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder in its place, and a file that another version filled."""
    store = Store(made)
    expected, path = store.finished(), store.runs.snapshot.path
    path.unlink()
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("create table runs (run_id text primary key)")
    assert store.finished() == expected == store.finished()
    path.unlink()
    path.mkdir()
    monkeypatch.setattr(store.runs.server, "search", None)  # MLflow is not asked
    assert store.finished() == expected
    path.rmdir()
