"""Checks of software, devices, CPUs, memory and limits."""

import os
import platform
import re
import resource
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, metadata, requires, version
from importlib.util import find_spec
from pathlib import Path
from shutil import which

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from rich.filesize import decimal

from harness.core.cpus import given_threads, has_gpu, num_cpus
from harness.execution.health.finding import Finding
from harness.execution.provenance import PACKAGES

PACKAGE = "pretraining-harness"
INSTALL = "pip install -c constraints.txt -e ."
GB = 10**9
LITTLE_MEMORY, TOO_LITTLE_MEMORY = 2 * GB, GB // 2
"""A worker with torch takes about half a gigabyte."""
FEW_FILES = 256
OPTIONAL = ("ray", "submitit", "psycopg2", "faiss", "tensorboard", "wandb", "zstandard")
"""Modules without which the harness runs; `docs/doctor.md` says what they are for."""
MEMINFO = Path("/proc/meminfo")
CGROUP = Path("/sys/fs/cgroup")


def check_packages() -> Finding:
    """Python and the required packages, against the ranges of pyproject.toml."""
    wrong = [] if _python_fits() else [f"Python {platform.python_version()}"]
    needed = [Requirement(text) for text in requires(PACKAGE) or ()]
    needed = [one for one in needed if not one.marker or one.marker.evaluate({"extra": ""})]
    for one in needed:
        try:
            installed = version(one.name)
        except PackageNotFoundError:
            wrong.append(f"{one.name} is missing")
            continue
        if not one.specifier.contains(installed, prereleases=True):
            wrong.append(f"{one.name} {installed} is not {one.specifier}")
    if wrong:
        return Finding("problem", ", ".join(wrong), INSTALL)
    shown = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    return Finding("ok", f"Python {platform.python_version()}, {shown}")


def _python_fits() -> bool:
    return SpecifierSet(metadata(PACKAGE)["Requires-Python"]).contains(
        platform.python_version(), prereleases=True
    )


def check_device() -> Finding:
    """The GPUs that torch finds, and whether processes that share one compute at the same time."""
    if has_gpu():
        from torch import cuda

        names = [cuda.get_device_properties(place) for place in range(cuda.device_count())]
        found = ", ".join(f"{one.name}, {decimal(one.total_memory)}" for one in names)
        service = "; the Multi-Process Service runs" if _has_multi_process_service() else ""
        return Finding("ok", found + service)
    if which("nvidia-smi"):
        advice = "install a build of torch for its driver (pytorch.org), or run on the CPU"
        return Finding("warning", f"torch {version('torch')} finds no GPU of this machine", advice)
    return Finding("ok", "no GPU; stages run on the CPU")


def _has_multi_process_service() -> bool:
    """Whether NVIDIA's service is at its pipe, where each process with CUDA looks for it."""
    return (Path(os.environ.get("CUDA_MPS_PIPE_DIRECTORY", "/tmp/nvidia-mps")) / "control").exists()


def check_cpus() -> Finding:
    """CPUs by affinity and quota, threads, and the load by other processes."""
    cpus, threads = num_cpus(), given_threads()
    found = f"{cpus} of {os.cpu_count()} CPUs, OMP_NUM_THREADS {threads or 'not set'}"
    load = os.getloadavg()[0]
    if threads and threads > cpus:
        return Finding("warning", found, f"set OMP_NUM_THREADS to at most {cpus}")
    if load > 1.5 * (os.cpu_count() or 1):
        advice = "other processes compute, and runs take longer: wait, or use fewer --jobs"
        return Finding("warning", f"{found}, load {load:.1f}", advice)
    return Finding("ok", found)


def check_memory() -> Finding:
    """Memory that new processes may take, within the limit of the control group."""
    free = _free_memory()
    if free is None:
        return Finding("ok", "not known on this system")
    found = f"{decimal(free)} free"
    if free >= LITTLE_MEMORY:
        return Finding("ok", found)
    advice = "end other processes, raise the container's limit, or use --jobs 1"
    return Finding("problem" if free < TOO_LITTLE_MEMORY else "warning", found, advice)


def _free_memory() -> int | None:
    """Bytes; null without Linux's files."""
    with suppress(OSError):
        if match := re.search(r"MemAvailable:\s*(\d+) kB", MEMINFO.read_text()):
            free = 1024 * int(match[1])
            with suppress(OSError, ValueError):  # no control group, or without a limit
                limit = int((CGROUP / "memory.max").read_text())
                used = int((CGROUP / "memory.current").read_text())
                free = min(free, limit - used)
            return free
    return None


def check_limits() -> Finding:
    """The number of files that a process may open."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = "any number" if hard == resource.RLIM_INFINITY else f"{hard:,}"
    found = f"{soft:,} open files at most" if soft > 0 else "any number of open files"
    if 0 < soft < FEW_FILES:
        return Finding("warning", found, f"ulimit -n 1024 (up to {most})")
    return Finding("ok", found)


def check_optional() -> Finding:
    """Packages for clusters, servers, approximate search, other loggers and compressed data."""
    there = [name for name in OPTIONAL if find_spec(name)]
    lacking = [name for name in OPTIONAL if name not in there]
    return Finding("ok", f"{', '.join(there) or 'none'}; not installed: {', '.join(lacking)}")
