"""Peak rates of devices."""

import pytest
import torch

from harness.core.compute import Compute
from harness.execution import utilisation
from harness.execution.stages import pretrain
from harness.execution.utilisation import device_name, known_peak, measured_peak


@pytest.mark.parametrize(
    ("name", "precision", "tera"),
    [
        ("NVIDIA A100-SXM4-80GB", "bf16-mixed", 312),
        ("NVIDIA A100 80GB PCIe", "32-true", 19.5),
        ("NVIDIA H100 80GB HBM3", "bf16-mixed", 989),
        ("NVIDIA H200", "32-true", 67),
        ("NVIDIA L40S", "bf16-mixed", 362),
        ("NVIDIA L4", "bf16-mixed", 121),
        ("NVIDIA H100 PCIe", "bf16-mixed", None),  # fewer cores than the SXM module
        ("NVIDIA H200 NVL", "bf16-mixed", None),
        ("NVIDIA A10G", "bf16-mixed", None),
        ("NVIDIA GH200 480GB", "bf16-mixed", None),
        ("cpu (threads: 1)", "32-true", None),
        ("", "32-true", None),
    ],
)
def test_peaks_of_data_sheets(name: str, precision: str, tera: float | None) -> None:
    assert known_peak(name, precision) == (tera and tera * 1e12)


@pytest.mark.parametrize("precision", ["32-true", "bf16-mixed"])
def test_a_peak_is_measured(precision: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(utilisation, "MEASURED_SIDES", {"cpu": 64})
    monkeypatch.setattr(utilisation, "MEASURED_SECONDS", 0.01)
    assert 1e6 < measured_peak(torch.device("cpu"), precision) < 1e15
    assert device_name(torch.device("cpu")) == f"cpu (threads: {torch.get_num_threads()})"


def test_runs_on_known_gpus_record_their_utilisation(monkeypatch: pytest.MonkeyPatch) -> None:
    figures, compute = {"flops_per_second": 1e14}, Compute(precision="bf16-mixed")
    assert pretrain.utilisation(figures, compute) == {}  # on a CPU
    monkeypatch.setattr(pretrain, "uses_gpus", lambda compute: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "NVIDIA H200")
    assert pretrain.utilisation(figures, compute) == {"mfu": 1e14 / 989e12}
    assert pretrain.utilisation({}, compute) == {}  # nothing was trained
    monkeypatch.setattr(pretrain, "num_ranks", lambda: 4)
    assert pretrain.utilisation(figures, compute) == {"mfu": 1e14 / (4 * 989e12)}
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "NVIDIA GeForce RTX 4090")
    assert pretrain.utilisation(figures, compute) == {}
