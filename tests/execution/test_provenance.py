"""Provenance of results."""

import os
import subprocess
from importlib.metadata import version
from pathlib import Path

import pytest

from harness.execution.provenance import (
    commit,
    fingerprints,
    made_with,
    makers,
    provenance,
    run_again,
)
from harness.plan.plan import Stage


def test_the_command_that_runs_it_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "x.yaml").touch()
    monkeypatch.chdir(tmp_path)
    assert run_again(Path("x.yaml"), ["seeds.pretrain=3"]) == (
        "harness run x.yaml --set=seeds.pretrain=3"
    )
    assert run_again(Path("x.yaml"), ["a=1"], ["large"]) == (
        "harness run x.yaml --variant=large --set=a=1"
    )
    assert run_again(Path("x.yaml"), ["pretrain.budget={steps: 5}"]).endswith(
        "'--set=pretrain.budget={steps: 5}'"
    )
    assert run_again(tmp_path / "x.yaml", []) == "harness run x.yaml"
    assert run_again(Path("none.yaml"), []) == provenance()["command"]


@pytest.mark.parametrize("program", ["/a/harness/__main__.py", "/venv/bin/harness", "harness"])
def test_the_program_is_named_as_in_the_docs(program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", [program, "run", "x.yaml"])
    assert provenance()["command"] == "harness run x.yaml"


def test_corpora_and_tasks_have_fingerprints() -> None:
    def stage(kind: str, label: str, **spec: str) -> Stage:
        return Stage(kind, label, label, spec, {}, 0.0)

    stages = [
        stage("tokenize", "a corpus", fingerprint="a1"),
        stage("pretrain", "an arm"),
        stage("finetune", "an arm on cola", task="cola", fingerprint="c1"),
        stage("finetune", "another on cola", task="cola", fingerprint="c1"),
    ]
    assert fingerprints(stages) == {"a corpus": "a1", "task cola": "c1"}


def test_stages_are_counted_by_environment() -> None:
    line = made_with()
    assert line.startswith(provenance()["machine"]) and f"torch {version('torch')}" in line
    assert makers([line, "", line]) == {line: "stages: 2", "not recorded": "stages: 1"}


def test_the_commit_of_a_checkout(tmp_path: Path) -> None:
    assert commit(tmp_path / "none") == ""
    folder = tmp_path / "checkout"
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(folder)]
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    (folder / "x").write_text("1")
    subprocess.run([*git, "add", "x"], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "x"], check=True)
    head = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True).stdout
    os.utime(folder / "x", (0, 0))  # git would refresh its index
    index = (folder / ".git" / "index").read_bytes()
    assert commit(folder) == head[:12]
    assert (folder / ".git" / "index").read_bytes() == index
    (folder / "x").write_text("2")
    commit.cache_clear()
    assert commit(folder) == f"{head[:12]}-dirty"


def test_provenance_has_no_user_folders(monkeypatch: pytest.MonkeyPatch) -> None:
    given = [
        "/home/me/bin/harness",
        "run",
        "/home/me/x.yaml",
        "--store=/home/me/runs",
        "--set=a=b/c",
    ]
    monkeypatch.setattr("sys.argv", given)
    assert provenance()["command"] == "harness run x.yaml --store=runs --set=a=b/c"
