"""The campaign of faults: its proxy, its damage, its counts, and a short one."""

import os
import random
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
import yaml

from benchmarks import faulty_proxy
from benchmarks.fault_kinds import FAULTS, Scene, _damage, change_data, children, remove_data
from benchmarks.faults import EXPERIMENTS, Counts, campaign, declare, sum_of, table_of, wait
from benchmarks.faulty_proxy import FaultyProxy
from harness.plan.factory import load_plan


class Echo(BaseHTTPRequestHandler):
    """Answers with what it was sent."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(201)
        self.send_header("X-Path", self.path)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


def test_a_proxy_forwards_and_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(faulty_proxy, "SILENT_SECONDS", 0)
    with HTTPServer(("127.0.0.1", 0), Echo) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        proxy = FaultyProxy(f"http://127.0.0.1:{server.server_port}")
        request = Request(f"{proxy.address}/a?b=1", data=bytes(range(256)), method="POST")
        with urlopen(request) as answer:
            assert (answer.status, answer.headers["X-Path"]) == (201, "/a?b=1")
            assert answer.read() == bytes(range(256))
        proxy.mode = "error"
        with pytest.raises(HTTPError, match="500"):
            urlopen(request)
        for proxy.mode in ("closed", "silent"):
            with pytest.raises(ConnectionError):
                urlopen(request)
        assert proxy.refused == 3
        server.shutdown()
        proxy.mode = "well"
    with pytest.raises(HTTPError, match="502"):  # the server is gone
        urlopen(request)
    proxy.stop()


def test_experiments_are_valid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    files = declare(tmp_path)
    sizes = {name: len(load_plan(path).stages) for name, path in files.items()}
    assert sizes.keys() == EXPERIMENTS.keys() and max(sizes.values()) < 20
    assert yaml.safe_load(files["own"].read_text())["evaluate"]["tasks"].keys() == {"mine"}


def test_data_are_changed_and_restored(tmp_path: Path) -> None:
    files = declare(tmp_path)
    before = (tmp_path / "own.csv").read_text()
    scene = Scene(files["own"], tmp_path / "runs", random.Random(0))
    assert change_data(scene) and scene.restore
    assert (tmp_path / "own.csv").read_text() != before
    scene.restore()
    assert remove_data(scene) and not (tmp_path / "own.csv").exists()
    scene.restore()
    assert (tmp_path / "own.csv").read_text() == before
    assert _damage(scene, tmp_path) and not _damage(scene, tmp_path / "none")


def test_children_and_processes_that_hang() -> None:
    command = [sys.executable, "-c", "input()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True) as process:
        assert process.pid in children(os.getpid())
        assert not wait([process], 0)
    assert process.returncode == -9 and children(process.pid) == []


def test_counts_are_summed() -> None:
    assert sum_of([Counts(1, 1), Counts(2, 1, wrong=1)]) == Counts(3, 2, wrong=1)
    assert Counts(3, 2).is_good and not Counts(1, 1, lost=1).is_good
    rows = table_of({"a": Counts(1, 1), "bcd": Counts(2, 0)}).splitlines()
    assert rows[0].split() == ["fault", *vars(Counts())]
    assert rows[-1].split() == ["all", "3", "1", "0", "0", "0", "0", "0"]


@pytest.mark.campaign
def test_a_short_campaign(tmp_path: Path) -> None:
    kinds = ["all processes killed", "artifact deleted", "snapshot damaged"]
    assert FAULTS.keys() >= set(kinds)
    found = campaign(kinds, ["small"], rounds=len(kinds), faults=3, seed=0, jobs=2)
    assert all(one.is_good and one.rounds == 1 for one in found.values())
    assert sum(one.faults for one in found.values()) >= 5
