"""The processor, and which GPUs there are, against torch."""

import platform
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import patch

import pytest
import torch

from harness.core import cpus


def test_the_processor_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    info = tmp_path / "cpuinfo"
    info.write_text(
        "processor\t: 0\nmodel name\t: Some CPU\n\nprocessor\t: 1\nmodel name\t: Some CPU\n"
    )
    monkeypatch.setattr(cpus, "CPU_INFO", info)
    name = cpus.processor.__wrapped__
    assert name() == "Some CPU"
    monkeypatch.setattr(cpus, "CPU_INFO", tmp_path / "none")
    assert name() == (platform.processor() or platform.machine())


def test_gpus_are_what_torch_finds() -> None:
    assert cpus.has_gpu() == torch.cuda.is_available()
    assert len(cpus.gpus()) == torch.cuda.device_count()


@pytest.mark.parametrize(
    ("given", "names"),
    [(None, ("0", "1")), ("2,3", ("2", "3")), ("GPU-a, GPU-b", ("GPU-a", "GPU-b")),
     ("4,5,-1,6", ("4", "5"))],
)  # fmt: skip
def test_gpus_have_the_names_of_the_environment(
    monkeypatch: pytest.MonkeyPatch, given: str | None, names: tuple[str, ...]
) -> None:
    """Those that torch finds: it takes no GPU after a name that does not exist."""
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if given:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", given)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    with patch.object(cpus, "version", return_value="2.13.0"):
        for found in (True, False):
            with patch("torch.cuda.is_available", return_value=found):
                assert cpus.gpus() == (names if found else ())
                assert cpus.has_gpu() is found


def test_the_least_memory_of_the_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = [24, 8, 16]
    monkeypatch.setattr(torch.cuda, "device_count", lambda: len(sizes))
    found = [SimpleNamespace(total_memory=size) for size in sizes]
    monkeypatch.setattr(torch.cuda, "get_device_properties", found.__getitem__)
    assert cpus.gpu_memory() == 8


@pytest.mark.parametrize(
    ("given", "threads"),
    [("4", 4), ("4,2", 4), ("0", None), ("", None), ("all", None), ("-1", None), (None, None)],
)
def test_threads_are_those_of_the_environment(
    monkeypatch: pytest.MonkeyPatch, given: str | None, threads: int | None
) -> None:
    """The first number is that of the outer level."""
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    if given is not None:
        monkeypatch.setenv("OMP_NUM_THREADS", given)
    assert cpus.given_threads() == threads
