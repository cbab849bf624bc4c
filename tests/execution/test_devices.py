"""What a plan asks of the devices of this machine."""

import os
from pathlib import Path
from typing import Any

import pytest
import torch
from typer.testing import CliRunner

from harness.cli.app import app
from harness.core.compute import Compute
from harness.execution import run_plan, worker
from harness.execution.devices import devices_problem
from harness.execution.job import StageJob, Workspace
from tests.plan.checks.test_checks import planned


def problem(**compute: Any) -> str:
    plan = planned({"batch_size": 8}, compute=compute)
    return devices_problem(plan, [*plan.stages.values()])


@pytest.mark.parametrize(
    ("gpus", "compute", "expected"),
    [
        (0, {"devices": 8}, ""),  # processes on the CPU
        (2, {"devices": 2}, ""),
        (1, {"devices": 2}, "at most the number of GPUs, here 1, but is 2; lower it"),
        (1, {"devices": 2, "accelerator": "cpu"}, ""),
        (0, {"accelerator": "gpu"}, "must be auto or cpu on a machine without a GPU, but is gpu"),
        (8, {"devices": "auto"}, ""),
        (9, {"devices": "auto"}, "the sequences of a batch, 8 in the pretraining of 'x', but is 9"),
    ],
)
def test_devices_that_this_machine_lacks(
    gpus: int, compute: dict[str, Any], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: gpus)
    found = problem(**compute)
    assert expected in found and bool(found) == bool(expected)


def test_one_device_needs_no_other_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def compute(job: StageJob, **_: Any) -> dict[str, float]:
        return {"pid": os.getpid()}

    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    monkeypatch.setattr(worker, "_compute", compute)
    job = StageJob("pretrain", "key", {"pretrain": {}}, {}, Compute(devices="auto"))
    output = worker.run_stage(job, Workspace(tmp_path))
    assert output and output.metrics == {"pid": os.getpid()}


def test_what_is_finished_or_imported_takes_no_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    plan = planned(compute={"devices": 2})
    assert devices_problem(plan, [*plan.stages.values()])
    rest = [one for one in plan.stages.values() if one.kind != "pretrain"]
    assert not devices_problem(plan, rest) and not devices_problem(plan, [])


def test_a_plan_warns_and_a_run_refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    options = ["quickstart", "--set", "compute.devices=2", "--store", str(tmp_path / "runs")]
    shown = CliRunner().invoke(app, ["plan", *options])
    line = "compute.devices must be at most the number of GPUs, here 1, but is 2"
    assert shown.exit_code == 0
    assert f"warning: a run on this machine would be refused: {line}" in shown.output
    refused = CliRunner().invoke(app, ["run", *options])
    assert refused.exit_code == 2 and line in refused.output
    assert "refused" not in refused.output and "Traceback" not in refused.output


@pytest.mark.parametrize(
    ("executor", "devices", "expected"),
    [
        ("processes", 1, 5),
        ("processes", 2, 1),
        ("serial", 1, 1),
        ("ray", 2, None),
        ("slurm", 2, None),
    ],
)
def test_several_devices_bound_the_stages_of_one_machine_alone(
    executor: str, devices: int, expected: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_plan, "default_jobs", lambda *_: 5)
    assert run_plan._jobs(planned(compute={"devices": devices}), executor) == expected
