"""A planted password is in nothing that a run, its report and other commands print or write."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from benchmarks.tracking_server import TrackingServer
from harness.cli import app as command
from harness.cli.app import app
from harness.execution.backends.remote import surroundings
from harness.execution.stages import STAGES
from harness.execution.stages.context import Metrics, StageContext
from harness.store import finished_runs

PASSWORD = "planted-pass-word"
EXPERIMENT = """
name: secret
extends: smoke
grid: {pretrain.objective.masking: [static]}
expect: []
pretrain: {budget: {tokens: 4_000}, corpus: {source: microworld, num_tokens: 8_000}}
seeds: {pretrain: 1, finetune: 2}
evaluate: {tasks: [micro-sst2], protocol: {max_train_examples: 20}}
sweep: null
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An experiment, and a server whose address has a password."""
    finished_runs._make_tables(tmp_path / "tables.db")  # faster than by the server
    server = TrackingServer(f"sqlite:///{tmp_path / 'tables.db'}", tmp_path / "files")
    server.start()
    address = server.address.replace("://", f"://user:{PASSWORD}@")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", address)
    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path / "cache"))
    (tmp_path / "secret.yaml").write_text(EXPERIMENT)
    yield tmp_path
    server.stop()


def _fail(context: StageContext) -> Metrics:
    if context.spec["seed"]:
        raise ConnectionError(f"no answer from {os.environ['MLFLOW_TRACKING_URI']}, {PASSWORD}")
    return FINETUNE(context)


FINETUNE = STAGES["finetune"]


def test_a_planted_password_is_nowhere(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(STAGES, "finetune", _fail)
    experiment, output = str(folder / "secret.yaml"), ""
    address = ["--address", f"ray://user:{PASSWORD}@host:1"]
    monkeypatch.setattr("sys.argv", ["harness", "run", experiment, *address])
    for words in (
        ["run", experiment, "--executor", "serial"],
        ["status", experiment],
        ["report", experiment],
        ["store"],
        ["ui", experiment],
        ["run", experiment, *address],  # ray is not the executor
    ):
        done = CliRunner().invoke(app, [*words, "--store", str(folder / "runs")])
        output += done.output
    assert "no answer from http://***@127.0.0.1" in output and "FAILED finetune" in output
    assert "store: http://127.0.0.1" in output and "open http://127.0.0.1" in output
    assert PASSWORD not in output
    texts = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    names = {path.name for path in texts}
    assert {"error.txt", "journal.jsonl", "index.html", "tables.db", "leaderboard.csv"} <= names
    assert [path for path, text in texts.items() if PASSWORD.encode() in text] == []
    (error,) = [text for path, text in texts.items() if path.name == "error.txt"]
    assert b"Traceback" in error and b"no answer from http://***@127.0.0.1" in error


def test_jobs_that_are_written_to_files_hold_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"http://user:{PASSWORD}@host")
    monkeypatch.setenv("HARNESS_DATA", "/data")
    assert surroundings(1)[-1].keys() >= {"MLFLOW_TRACKING_URI", "HARNESS_DATA"}
    in_files = surroundings(1, in_files=True)[-1]
    assert in_files["HARNESS_DATA"] == "/data" and "MLFLOW_TRACKING_URI" not in in_files


def test_tracebacks_of_the_command_are_masked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> None:
        raise RuntimeError(f"http://user:{PASSWORD}@host [/red]")

    monkeypatch.setattr(command, "app", fail)
    with pytest.raises(SystemExit, match="1"):
        command.main()
    text = capsys.readouterr().err
    assert text.endswith("RuntimeError: http://***@host [/red]\n") and "Traceback" in text
    assert PASSWORD not in text
