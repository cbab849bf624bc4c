"""`compute.accelerator: cpu` on a machine with a GPU leaves the GPU alone."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
import torch
from torch import Tensor

from benchmarks.pretraining_workloads import Shape, Workload
from harness.core.compute import Compute
from harness.core.cpus import num_cpus
from harness.execution.backends import processes
from harness.execution.backends.processes import cpu_jobs, default_jobs, default_threads
from harness.execution.stages import pretrain as stages
from harness.pretraining.distributed import default_micro_batch_tokens, one_device
from harness.pretraining.module import PretrainingModule
from harness.pretraining.objectives.loader import Feed
from harness.pretraining.recipes import RECIPES
from harness.pretraining.run import fit
from harness.pretraining.scoring import probing

ON_CPU = Compute(accelerator="cpu")


@pytest.fixture(autouse=True)
def a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """What torch says of a machine with a GPU; the build of torch may have no way to use it."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setattr(processes, "gpus", lambda: ("0",))
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)


def test_devices_threads_and_jobs() -> None:
    assert one_device(ON_CPU).type == "cpu" and one_device(Compute()).type == "cuda"
    assert default_micro_batch_tokens(ON_CPU) == 8_192
    assert default_micro_batch_tokens(Compute()) == default_micro_batch_tokens() == 65_536
    assert default_threads(ON_CPU) == 1 and default_threads(Compute()) == num_cpus()
    assert default_jobs(ON_CPU) == cpu_jobs() and default_jobs(Compute()) == 1


def test_each_of_several_gpus_computes_a_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "gpus", lambda: ("3", "5"))
    assert default_jobs(Compute()) == 2 and default_jobs(ON_CPU) == cpu_jobs()
    assert default_threads(Compute()) == max(1, num_cpus() // 2)
    for devices in (2, "auto"):
        of_all = Compute.model_validate({"devices": devices})
        assert default_jobs(of_all) == 1 and default_threads(of_all) == num_cpus()


@pytest.mark.parametrize("given", [("0",), ("0", "1")])
def test_small_networks_share_a_gpu(monkeypatch: pytest.MonkeyPatch, given: tuple[str]) -> None:
    """As many as the CPUs allow, and each has its part of them."""
    monkeypatch.setattr(processes, "gpus", lambda: given)
    monkeypatch.setattr(processes, "num_cpus", lambda: 16)
    monkeypatch.setattr(processes, "gpu_memory", lambda: 80 * 2**30)
    for threads, jobs in ((None, 8), (4, 4), (16, len(given))):
        assert default_jobs(Compute(threads=threads), has_small_networks=True) == jobs
    assert [default_threads(Compute(), jobs) for jobs in (1, 2, 8, 40)] == [
        16 // len(given), 8, 2, 1,
    ]  # fmt: skip
    monkeypatch.setattr(processes, "gpu_memory", lambda: 8 * 2**30 - 1)  # one and no half fits
    assert default_jobs(Compute(), has_small_networks=True) == len(given)


@pytest.mark.parametrize(
    ("resources", "each"),
    [
        ({"gpus": 0.07}, 14),
        ({"gpus": 0.25}, 4),
        ({"gpus": 0.25, "kinds": {"probe": {"gpus": 0.5}}}, 2),
        ({"kinds": {"probe": {"gpus": 0.5}}}, 1),
        ({"gpus": 1.0}, 1),
        ({"gpus": 0}, 1),
    ],
)
def test_declared_shares_of_a_gpu(
    monkeypatch: pytest.MonkeyPatch, resources: dict[str, Any], each: int
) -> None:
    compute = Compute.model_validate({"resources": resources})
    assert default_jobs(compute) == each
    monkeypatch.setattr(processes, "gpus", lambda: ("0", "1", "2"))
    assert default_jobs(compute) == 3 * each
    monkeypatch.setattr(processes, "gpus", lambda: ())
    assert default_jobs(compute) == cpu_jobs()


def test_batches_are_pinned_and_made_ahead_for_a_gpu_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pinned: list[Tensor] = []

    def pin(tensor: Tensor) -> Tensor:
        pinned.append(tensor)
        return tensor

    monkeypatch.setattr(Tensor, "pin_memory", pin)
    work = Workload(Shape("mlm", "bert", "nano", 2, 16, vocab_size=500), steps=2)
    module = PretrainingModule(work.learner(), work.spec, work.steps, seed=0)
    fit(module, Feed(work.step, work.steps), tmp_path / "last.ckpt", ON_CPU)
    assert module.global_step == 2 and not pinned
    feed = Feed(work.step, work.steps)
    feed.is_for_gpu = True
    found = [step for run in feed for step in run]
    for number, step in enumerate(found):
        expected = work.step(number)
        for part, other in zip(step.parts, expected.parts, strict=True):
            assert all(torch.equal(part[name], other[name]) for name in other)
    assert len(found) == 2 and len(pinned) == sum(len(part) for s in found for part in s.parts)


def test_probes_and_held_out_losses(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    taken: list[Any] = []

    def probe(*given: Any) -> probing.ProbeResult:
        taken.append(given[-1])
        return probing.ProbeResult({}, pd.DataFrame())

    def held_out(*given: Any) -> dict[str, float]:
        taken.append(given[-1])
        return {}

    monkeypatch.setattr(probing, "probe", probe)
    monkeypatch.setattr(stages, "held_out", held_out)
    monkeypatch.setattr(stages, "network_folder", lambda context: tmp_path)
    spec = RECIPES["bert"].model_dump(mode="json")
    context: Any = SimpleNamespace(
        spec={"pretrain": spec, "seed": 0, "probe": "blimp"},
        inputs={"tokens": tmp_path, "tokenizer": tmp_path},
        out=tmp_path,
        compute=ON_CPU,
    )
    assert stages.probe(context) == stages.held_out_loss(context) == {}
    assert taken == [ON_CPU, ON_CPU]
