"""Histories: every point once, whatever is logged; other loggers by name."""

import csv
import json
from pathlib import Path
from typing import Any, cast

import pytest
import pytorch_lightning as pl
import torch
from torch.utils.data import DataLoader, Dataset

from harness.core.compute import Compute
from harness.core.errors import MemberError
from harness.execution.history import points
from harness.pretraining import loggers
from harness.pretraining.history import HistoryLogger
from harness.pretraining.history_file import append_line, last_steps
from harness.pretraining.loggers import LOGGERS, LogTarget, make_logger, unavailable_reason
from harness.pretraining.trainer import make_trainer


def lines(path: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_metric_keeps_its_first_value_at_a_step(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    first = HistoryLogger(path)
    first.log_metrics({"loss": 3.0, "epoch": 0}, step=1)
    first.log_metrics({"loss": 2.0}, step=2)
    again = HistoryLogger(path)
    again.log_metrics({"loss": 9.0, "dev": 0.5}, step=2)
    again.log_metrics({"loss": 1.0}, step=3)
    found = [{name: one[name] for name in one if name != "time"} for one in lines(path)]
    assert found == [
        {"step": 1, "loss": 3.0},
        {"step": 2, "loss": 2.0},
        {"step": 2, "dev": 0.5},
        {"step": 3, "loss": 1.0},
    ]


def test_the_remains_of_an_interrupted_line_are_removed(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    HistoryLogger(path).log_metrics({"loss": 3.0}, step=1)
    with path.open("a") as file:
        file.write('{"step": 2, "ti')
    HistoryLogger(path).log_metrics({"loss": 2.0}, step=2)
    assert [(one["step"], one["loss"]) for one in lines(path)] == [(1, 3.0), (2, 2.0)]


def test_damaged_lines_are_left_out(tmp_path: Path) -> None:
    """A stage does not fail for its curve."""
    path = tmp_path / "history.jsonl"
    append_line(path, 1, {"loss": 2.5})
    whole = path.read_bytes()
    path.write_bytes(b"\x87\xff\n[1]\n" + whole + b'{"step": 2}\n\x00\n')
    assert points(path.read_bytes()) == points(whole) and len(points(whole)) == 1
    assert last_steps(path) == {"loss": 1}
    assert path.read_bytes() == whole
    path.write_bytes(b"\x87\xff" * 99)
    assert last_steps(path) == {} and path.read_bytes() == b""


def test_runs_of_one_stage_are_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    for prefix in ("trial_0/", "trial_1/"):
        HistoryLogger(path, prefix).log_metrics({"loss": 1.0}, step=1)
    assert [set(one) - {"step", "time"} for one in lines(path)] == [
        {"trial_0/loss"},
        {"trial_1/loss"},
    ]


class Module(pl.LightningModule):
    """Logs in every way that Lightning offers."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(()))

    def training_step(self, batch: torch.Tensor, index: int) -> torch.Tensor:
        self.log("by_step", float(index))
        self.log("by_epoch", float(index), on_step=False, on_epoch=True)
        return (self.weight - batch.mean()).square()

    def validation_step(self, batch: torch.Tensor, index: int) -> None:
        self.log("dev", float(index))

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), 0.1)


def test_all_that_a_module_logs_arrives(tmp_path: Path) -> None:
    target = LogTarget(tmp_path / "history.jsonl", tmp_path, "study", "pretrain a/b", "k")
    made = [LOGGERS[name](target) for name in ("mlflow", "csv")]
    trainer = make_trainer(compute=Compute(accelerator="cpu"), loggers=made, max_epochs=2)
    data: DataLoader[Any] = DataLoader(cast("Dataset[Any]", torch.ones(3, 1)), batch_size=1)
    trainer.fit(Module(), data, data)
    found: dict[str, list[float]] = {}
    for one in lines(target.history):
        for name in one.keys() - {"step", "time"}:
            found.setdefault(name, []).append(one[name])
    assert found == {"by_step": [0, 1, 2, 0, 1, 2], "by_epoch": [1, 1], "dev": [1, 1]}
    (file,) = (tmp_path / "csv" / "study").glob("pretrain a_b/*/metrics.csv")
    with file.open() as rows:
        assert [row["by_epoch"] for row in csv.DictReader(rows) if row["by_epoch"]] == ["1.0"] * 2


def test_a_logger_needs_a_name_and_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(loggers.PACKAGES, "wandb", "no_such_package")
    monkeypatch.setitem(loggers.PACKAGES, "tensorboard", "torch")
    assert unavailable_reason("mlflow") is unavailable_reason("tensorboard") is None
    assert str(unavailable_reason("mlfow")).startswith(
        "the logger 'mlfow' is not known; did you mean 'mlflow'?"
    )
    assert unavailable_reason("wandb") == (
        "the logger wandb needs the package no_such_package, which is not installed"
    )


def test_a_logger_of_a_plug_in_that_is_none_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(LOGGERS, "own", lambda target: None)
    with pytest.raises(MemberError, match="the logger 'own' must be a Lightning logger, not None"):
        make_logger("own", LogTarget(tmp_path / "history", tmp_path, "one", "run", "key"))


def test_damaged_lines_are_removed(tmp_path: Path) -> None:
    """With the remains of one that a kill interrupted."""
    path, good = tmp_path / "history.jsonl", b'{"step": 2, "time": 1, "loss": 0.5}\n'
    path.write_bytes(good + b'{"step": \xff}\n[1]\n7\n{"time": 1}\n' + good + b'{"step": 3')
    assert last_steps(path) == {"loss": 2}
    assert path.read_bytes() == 2 * good
