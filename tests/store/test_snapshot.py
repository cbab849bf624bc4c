"""The snapshot agrees with MLflow, also after runs are added, failed, deleted or restored."""

import math
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from harness.store import snapshot as snapshot_module
from harness.store import snapshot_updates
from harness.store import store as tracking
from harness.store.snapshot import Entry, Snapshot
from harness.store.store import StageResult, Store


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
    entries = store._server.search(f"tags.`{tracking.KEY}` != ''")
    return {record.key: record for record in map(tracking._record, entries)}


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
    for tag in (tracking.NAME, tracking.IMPORT):
        assert store._tagged(tag) == store._server.search(f"tags.`{tag}` != ''")
    gone = store._tagged(tracking.IMPORT)[0]
    store._server.fail(gone.run_id)
    assert store.imports() == []


def test_runs_are_read_in_chunks(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(made)
    monkeypatch.setattr(snapshot_module, "CHUNK", 1)
    (made / tracking.SNAPSHOT).unlink(missing_ok=True)
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
    store, path = Store(made), made / tracking.SNAPSHOT
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


def test_entries_are_ordered_by_start_time(tmp_path: Path) -> None:
    late, early, other = (
        Entry(run, start, start + 1, "file:///x", tags, {"loss": 0.25})
        for run, tags, start in (("r1", {"key": "a"}, 5), ("r2", {"key": "b"}, 3), ("r3", {}, 1))
    )
    snapshot = Snapshot(tmp_path / "s.db", ["key"])
    snapshot.update([], [late, early, other])
    assert snapshot.entries("key") == [early, late]
    assert snapshot.entries("key", {"a", "c"}) == [late]
    assert snapshot.ends() == {"r1": 6, "r2": 4, "r3": 2}
    snapshot.update(["r1"], [])
    assert snapshot.entries("key") == [early]
    with closing(sqlite3.connect(tmp_path / "s.db")) as database:
        assert database.execute("select count(*) from runs").fetchone() == (2,)
