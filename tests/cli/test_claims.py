"""`harness claims`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import typer

from harness.cli import run
from harness.cli.claims import Priced, each_claim_once
from harness.cli.options import FAILED
from harness.core import shipped
from harness.execution.backends import BACKENDS
from harness.study import Study
from tests.cli.test_app import call

QUICK = """
name: NAME
question: Is counting words better than the largest class?
claims: {CLAIM: bag_of_words > majority}
pretrain: {size: nano, corpus: {source: microworld, num_tokens: 20_000}, budget: {tokens: 0}}
grid: {pretrain.recipe: [majority, bag_of_words]}
evaluate: {tasks: [micro-sst2]}
"""
"""Baselines, which train no network."""


@pytest.fixture
def experiments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    """Two experiments on claims, one that cannot be planned, and one on none."""
    texts = {
        "first": QUICK.replace("NAME", "first").replace("CLAIM", "E1"),
        "second": QUICK.replace("NAME", "second").replace("CLAIM", "E2"),
        "broken": QUICK.replace("NAME", "broken").replace("CLAIM", "E3").replace("sst2", "nothing"),
        "other": QUICK.replace("NAME", "other").replace("claims: {CLAIM:", "expect: {average:"),
    }
    files = {name: tmp_path / f"{name}.yaml" for name in texts}
    for name, text in texts.items():
        files[name].write_text(text)
    monkeypatch.setattr(shipped, "shipped_experiments", lambda: files)
    return files


def test_experiments_are_listed_with_their_time(
    experiments: dict[str, Path], tmp_path: Path
) -> None:
    code, output = call("claims", "--store", str(tmp_path / "runs"))
    assert code == 0 and "other" not in output
    assert output.count("about ") == 4 and "broken.yaml:7" in output
    assert not (tmp_path / "runs").exists()
    code, output = call("claims", "E2", "--store", str(tmp_path / "runs"))
    assert code == 0 and "second" in output and "first" not in output


def test_experiments_are_computed_within_a_budget(
    experiments: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(BACKENDS, "processes", BACKENDS["serial"])  # a new one loads for seconds
    options = ["--run", "--store", str(tmp_path / "runs"), "--out", str(tmp_path / "board.md")]
    code, output = call("claims", "E1", "E2", *options, "--budget", "0.001s", "--jobs", "1")
    assert code == 2 and "not within the budget" in output  # and so no report
    code, output = call("claims", "E1", *options, "--budget", "1h", "--jobs", "1")
    assert code == 0 and "bag_of_words > majority" in output
    assert "| E1 |" in (tmp_path / "board.md").read_text()
    code, output = call("claims", "E1", *options, "--jobs", "1")
    assert code == 0 and "done" in output and "stages were done already" in output


def test_failed_stages_are_said_after_all_is_computed(
    experiments: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compute = run.compute

    def failing(study: Study, *given: Any) -> None:
        if study.name == "first":
            raise typer.Exit(FAILED)
        compute(study, *given)

    monkeypatch.setitem(BACKENDS, "processes", BACKENDS["serial"])
    monkeypatch.setattr(run, "compute", failing)
    board = tmp_path / "new" / "board.md"
    options = ["--run", "--store", str(tmp_path / "runs"), "--out", str(board), "--jobs", "1"]
    code, output = call("claims", "E1", "E2", *options)
    assert code == 1 and "experiments with failed stages: first\n" in output
    assert "| E2 |" in board.read_text()


def test_a_board_that_cannot_be_written_is_refused_before_any_work(
    experiments: dict[str, Path], tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    options = ["--run", "--store", str(tmp_path / "runs"), "--out"]
    code, output = call("claims", "E1", *options, str(tmp_path / "file" / "board.md"))
    assert code == 2 and "must be a new folder or a writable one" in output
    code, output = call("claims", "E1", *options, str(tmp_path))
    assert code == 2 and "--out must be a file" in output
    assert not (tmp_path / "runs").exists()


@dataclass(frozen=True)
class Timed(Priced):
    """An experiment that takes `time` seconds."""

    time: float = 0.0

    @property
    def seconds(self) -> float:
        return self.time


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        ({"both": 100, "one": 90, "again": 80}, ["both"]),
        ({"both": 100, "one": 20, "again": 10}, ["again", "both"]),
        ({"both": 0, "one": 0, "again": 0}, ["both"]),  # all finished
    ],
)
def test_experiments_that_test_each_claim_once(
    times: dict[str, float], expected: list[str]
) -> None:
    ids = {"both": ["E1", "E2"], "one": ["E1"], "again": ["E1"]}
    study: Any = object()
    found = [Timed(Path(name), ids[name], study, time=time) for name, time in times.items()]
    found.append(Timed(Path("unplanned"), ["E3"], None))
    chosen = each_claim_once(found)
    assert [one.file.name for one in chosen] == expected


def test_experiments_that_test_each_claim_once_come_first(
    experiments: dict[str, Path], tmp_path: Path
) -> None:
    again = experiments["first"].read_text().replace("first", "again")
    text = again.replace("[micro-sst2]", "[micro-sst2, micro-rte]")
    experiments["again"] = tmp_path / "again.yaml"
    experiments["again"].write_text(text)
    store = ["--store", str(tmp_path / "runs")]
    code, output = call("claims", *store)
    assert code == 0 and output.index(" second ") < output.index(" again ")
    assert "each claim once: 2 experiments" in output and "all: 3 experiments" in output
    code, output = call("claims", *store, "--once")
    assert code == 0 and " again " not in output and "all: 3 experiments" in output


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["E999"], "the claim 'E999' is not known"),
        (["E4"], "no shipped experiment tests E4"),
        (["E1", "--budget", "2h"], "--budget has an effect with --run only"),
        (["E1", "--run", "--budget", "two hours"], "must be a time such as 90m or 2h"),
    ],
)
def test_wrong_arguments(experiments: dict[str, Path], arguments: list[str], expected: str) -> None:
    code, output = call("claims", *arguments)
    assert code == 2 and expected in output.replace("\n", " ")
