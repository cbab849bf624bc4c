"""A store on MLflow's server with PostgreSQL."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory

import pytest

from benchmarks.tracking_server import Database, TrackingServer, free_port
from harness.store import cache, outages
from harness.store.store import Store


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    """Outside pytest's folder, which each new session of pytest closes to PostgreSQL's user."""
    with TemporaryDirectory() as folder:
        try:
            found = Database(Path(folder) / "tables")
        except FileNotFoundError as error:
            pytest.skip(str(error))
        found.start()
        yield found
        found.stop()


@pytest.fixture(scope="module")
def artifacts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which the server keeps the files of runs."""
    return tmp_path_factory.mktemp("files")


@pytest.fixture(scope="module")
def server(database: Database, artifacts: Path) -> Iterator[str]:
    """The address of a server with proxied artifacts."""
    found = TrackingServer(database.address, artifacts)
    found.start()
    yield found.address
    found.stop()


@pytest.fixture
def store(server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", server)
    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path / "cache"))
    return Store(tmp_path / "runs")


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A failed request is repeated for minutes otherwise."""
    monkeypatch.setattr(outages, "_known", {})
    monkeypatch.setenv(outages.LIMIT, "0")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "out"
    (folder / "model").mkdir(parents=True)
    (folder / "model" / "weights").write_bytes(bytes(range(256)) * 1000)
    return folder


def test_what_is_recorded_is_read_elsewhere(
    store: Store, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Long values, many params and metrics, and files, byte for byte; whatever other code of the
    process has set as MLflow's server."""
    monkeypatch.setattr("mlflow.tracking._tracking_service.utils._tracking_uri", "sqlite:///a.db")
    spec = {"text": "x" * 20_000, "many": {f"n{i}": i for i in range(120)}, "none": None}
    metrics = {f"m{i}": i / 7 for i in range(1_100)}
    record = store.record("long", "pretrain", "bert", spec, metrics, folder, "torch 2")
    other = Store(tmp_path / "elsewhere")
    found = other.finished()["long"]
    assert (found.metrics, found.digest) == (metrics, record.digest)
    assert other.spec(found) == spec
    read = other.files(found) / "model" / "weights"
    assert read.read_bytes() == (folder / "model" / "weights").read_bytes()


def test_missing_files_are_not_a_server_that_fails(
    impatient: None, store: Store, folder: Path, artifacts: Path
) -> None:
    """A stage is computed again where its files are gone, never because they cannot be read."""
    record = store.record("gone", "finetune", "x", {}, {}, folder)
    place = next(artifacts.rglob(f"{record.run_id}/artifacts"))
    place.joinpath("model").rename(place / "moved")
    assert store.fetch(record) is None
    rmtree(place)
    cache.forget(record.artifact_uri)
    assert store.fetch(record) is None
    away = record.artifact_uri.replace(":/", f"://127.0.0.1:{free_port()}/", 1)
    with pytest.raises(OSError, match=r"MLflow at http.*: Connection refused"):
        store.files(replace(record, artifact_uri=away))
    assert store.find("gone") == record


def test_a_full_artifact_store_records_nothing(
    impatient: None, store: Store, folder: Path, artifacts: Path
) -> None:
    """A file in the place of the folder: uploads fail for root, too."""
    elsewhere = artifacts.rename(artifacts.with_name("elsewhere"))
    artifacts.write_text("")
    try:
        with pytest.raises(OSError, match="MLflow at http"):
            store.record("full", "finetune", "x", {}, {}, folder)
        assert store.find("full") is None
    finally:
        artifacts.unlink()
        elsewhere.rename(artifacts)
    store.record("full", "finetune", "x", {}, {}, folder)
    assert store.find("full") is not None


def test_of_many_that_record_a_stage_at_once_one_remains(
    store: Store, folder: Path, tmp_path: Path
) -> None:
    """Without the lease that keeps them from it."""
    start = threading.Barrier(4)

    def record(number: int) -> str:
        own = Store(tmp_path / str(number))
        start.wait()
        return own.record("same", "finetune", "x", {}, {"by": float(number)}, folder).run_id

    with ThreadPoolExecutor(4) as pool:
        ids = set(pool.map(record, range(4)))
    assert store.finished()["same"].run_id in ids
    assert len(store._server.search("tags.`harness.key` = 'same'")) == 1


def test_a_restarted_database_is_waited_for(store: Store, folder: Path, database: Database) -> None:
    """Nothing is lost: what was recorded before is there, and recording goes on."""
    store.record("before", "finetune", "x", {}, {}, folder)
    database.stop()
    begun = threading.Event()

    def record() -> None:
        begun.set()
        store.record("meanwhile", "finetune", "x", {}, {}, folder)

    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(record)
        begun.wait()
        database.start()
        future.result()
    assert {"before", "meanwhile"} <= store.finished().keys()
