"""Checks of `harness doctor`, on machines, stores and servers in order and out of order."""

import json
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from typer.testing import CliRunner

from benchmarks.tracking_server import free_port
from harness.cli.app import app
from harness.execution import health
from harness.execution.health import CHECKS, machine, services, storage
from harness.execution.health.finding import Finding
from harness.store.store import Store
from tests.paths import ROOT


@pytest.fixture(autouse=True)
def surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a server, data and network."""
    for name in ("MLFLOW_TRACKING_URI", "HARNESS_DATA", "HF_ENDPOINT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store with a finished stage and an experiment."""
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "file").write_text("x")
    found = Store(tmp_path / "runs")
    found.record("k1", "pretrain", "bert", {}, {}, tmp_path / "out")
    found.record_experiment("quick", "micro-glue-v1", tmp_path / "out")
    found.finished()
    return found.root


def states(store: Path) -> dict[str, str]:
    """State of each check on a quiet machine with memory."""
    return {name: one.state for name, one in health.examine(store).items() if name != "CPUs"}


def test_a_store_in_order(store: Path) -> None:
    assert set(states(store).values()) == {"ok"}
    assert storage.check_store(store).found.startswith("1 finished stages in ")
    assert storage.check_snapshot(store).found == "snapshot-3.db: 2 runs"


def test_nothing_is_created(tmp_path: Path) -> None:
    found = health.examine(tmp_path / "a" / "b")
    assert list(found) == list(CHECKS)
    assert found["store"].found == f"empty: {tmp_path}/a/b"
    assert list(tmp_path.iterdir()) == []


def damaged_tables(store: Path) -> None:
    content = (store / "mlflow.db").read_bytes()
    (store / "mlflow.db").write_bytes(b"x" * 4096 + content[4096:])


def other_tables(store: Path) -> None:
    with closing(sqlite3.connect(store / "mlflow.db")) as database, database:
        database.execute("update alembic_version set version_num = 'abc123'")


def missing_files(store: Path) -> None:
    (store / "artifacts").rename(store / "moved")


@pytest.mark.parametrize(
    ("damage", "found"),
    [
        (damaged_tables, "mlflow.db cannot be read: file is not a database"),
        (other_tables, "tables abc123 of another version of MLflow"),
        (missing_files, "artifacts is missing"),
    ],
)
def test_a_damaged_store_is_a_problem(
    store: Path, damage: Callable[[Path], None], found: str
) -> None:
    damage(store)
    result = storage.check_store(store)
    assert result.state == "problem" and found in result.found and result.advice
    done = CliRunner().invoke(app, ["doctor", "--store", str(store)])
    assert done.exit_code == 1 and "problem" in done.output


def test_a_damaged_snapshot_is_a_warning(store: Path) -> None:
    (store / "snapshot-3.db").write_bytes(b"x" * 4096)
    assert storage.check_snapshot(store).state == "warning"
    assert CliRunner().invoke(app, ["doctor", "--store", str(store)]).exit_code == 0


def test_json_has_every_check(store: Path) -> None:
    done = CliRunner().invoke(app, ["doctor", "--json", "--store", str(store)])
    found = json.loads(done.output)
    assert list(found) == list(CHECKS)
    assert all(one.keys() == {"state", "found", "advice"} for one in found.values())


def test_a_check_that_fails_or_hangs_is_a_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    end = threading.Event()

    def fail(store: Path) -> Finding:
        raise RuntimeError("a\nbroken http://me:pass@host")

    def hang(store: Path) -> Finding:
        end.wait()
        return Finding("ok", "")

    monkeypatch.setattr(health, "CHECKS", {"fails": fail, "hangs": hang})
    monkeypatch.setattr(health, "SECONDS", 0.2)
    found = health.examine(tmp_path)
    end.set()
    assert found["fails"] == Finding(
        "problem", "RuntimeError: a broken http://***@host", health.REPORT
    )
    assert found["hangs"].state == "problem" and found["hangs"].found.startswith("no answer")


def test_packages_outside_their_ranges(monkeypatch: pytest.MonkeyPatch) -> None:
    needed = ["numpy>=999", "no-such-package", 'ray>=999; extra == "ray"', "rich>=1"]
    monkeypatch.setattr(machine, "requires", lambda package: needed)
    found = machine.check_packages()
    assert found.state == "problem"
    assert found.found.startswith("numpy ") and "is not >=999, no-such-package is" in found.found


def test_memory_is_bounded_by_the_control_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(machine, "CGROUP", tmp_path)
    assert machine.check_memory().found == "not known on this system"
    (tmp_path / "meminfo").write_text("MemTotal: 9 kB\nMemAvailable:   8000000 kB\n")
    assert machine.check_memory() == Finding("ok", "8.2 GB free")
    (tmp_path / "memory.max").write_text("max\n")
    assert machine.check_memory().state == "ok"
    (tmp_path / "memory.max").write_text("3000000000\n")
    (tmp_path / "memory.current").write_text("2000000000\n")
    assert machine.check_memory().found == "1.0 GB free"
    assert machine.check_memory().state == "warning"
    (tmp_path / "memory.current").write_text("2900000000\n")
    assert machine.check_memory().state == "problem"


def test_threads_and_load(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "num_cpus", lambda: 2)
    monkeypatch.setattr("os.getloadavg", lambda: (0.0, 0.0, 0.0))
    assert machine.check_cpus().state == "ok"
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert machine.check_cpus().advice == "set OMP_NUM_THREADS to at most 2"
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setattr("os.getloadavg", lambda: (999.0, 0.0, 0.0))
    assert machine.check_cpus().found.endswith("load 999.0")


def test_a_gpu_is_named_with_the_service_by_which_stages_share_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gpu = SimpleNamespace(name="NVIDIA H200", total_memory=141 * 10**9)
    monkeypatch.setattr(machine, "has_gpu", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda place: gpu)
    monkeypatch.setenv("CUDA_MPS_PIPE_DIRECTORY", str(tmp_path))
    assert machine.check_device().found == "NVIDIA H200, 141.0 GB"
    (tmp_path / "control").touch()
    assert machine.check_device().found.endswith("GB; the Multi-Process Service runs")


def test_space_and_file_systems(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage, "TOO_LITTLE_DISK", 2**80)
    monkeypatch.setattr(storage, "LITTLE_DISK", 2**80)
    assert storage.check_disk(tmp_path / "runs").state == "problem"
    monkeypatch.setattr(storage, "MOUNTS", tmp_path / "mounts")
    assert storage.file_system(tmp_path) == ""
    (tmp_path / "mounts").write_text(f"disk / ext4 rw 0 0\nhost {tmp_path}/a\\040b nfs4 rw 0 0\n")
    assert storage.file_system(tmp_path) == "ext4"
    assert storage.file_system(tmp_path / "a b" / "runs") == "nfs4"


@pytest.mark.parametrize("scheme", ["http", "postgresql+psycopg2"])
def test_a_dead_server_is_a_problem(scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    address = f"127.0.0.1:{free_port()}"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"{scheme}://user:planted1@{address}")
    found = services.check_server()
    assert (found.state, found.found) == ("problem", f"{scheme}://{address}: Connection refused")


@pytest.mark.parametrize(
    ("code", "state", "found"),
    [
        (200, "ok", ", MLflow 9.9"),
        (401, "ok", ", which asks"),
        (500, "problem", "answers with 500"),
    ],
)
def test_answers_of_servers(
    code: int, state: str, found: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(code)
            self.end_headers()
            self.wfile.write(b"9.9")

        def log_message(self, format: str, *args: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        monkeypatch.setenv("MLFLOW_TRACKING_URI", f"http://me:pass@127.0.0.1:{server.server_port}/")
        result = services.check_server()
        thread.join()
    assert result.state == state and found in result.found and "pass@" not in result.found


def test_data_and_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARNESS_DATA", str(tmp_path))
    assert services.check_data().state == "warning"  # empty
    (tmp_path / "nyu-mll" / "glue" / "cola").mkdir(parents=True)
    (tmp_path / "nyu-mll" / "glue" / "cola" / "train.csv").write_text("sentence,label\n")
    assert "nyu-mll/glue/cola" in services.check_data().found
    monkeypatch.setenv("HARNESS_DATA", str(tmp_path / "none"))
    assert services.check_data().state == "problem"
    assert services.check_hub().found == "not used: HF_HUB_OFFLINE is set"
    monkeypatch.delenv("HF_HUB_OFFLINE")
    for name in ("HTTPS_PROXY", "https_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{free_port()}")
    assert services.check_hub().state == "warning"
    with HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as server:
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
        assert services.check_hub().state == "ok"


def test_every_check_is_in_the_docs() -> None:
    rows = (ROOT / "docs" / "doctor.md").read_text().splitlines()
    listed = [row.split("|")[1].strip() for row in rows if row.startswith("|")]
    assert listed[2 : 2 + len(CHECKS)] == list(CHECKS)
