"""The processor, the CPUs that this process may use, how many threads of them a stage takes, and
the GPUs."""

import os
import platform
from functools import cache
from importlib.metadata import version
from pathlib import Path

CPU_INFO = Path("/proc/cpuinfo")


@cache
def processor() -> str:
    """The name of the processor, such as `AMD EPYC`; where the system does not name it, its
    architecture."""
    lines = CPU_INFO.read_text().splitlines() if CPU_INFO.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def num_cpus() -> int:
    """CPUs of this process: those of its affinity (taskset, a SLURM share) within the quota of its
    control group (containers), which may be fewer than the machine has."""
    from joblib import cpu_count  # loads for a quarter of a second

    return int(cpu_count())


def given_threads() -> int | None:
    """OMP_NUM_THREADS, or null if it is not set to a positive number."""
    given = os.environ.get("OMP_NUM_THREADS", "").split(",")[0]  # one number per nested level
    return (int(given) or None) if given.isdecimal() else None


def gpus() -> tuple[str, ...]:
    """GPUs that torch finds, each by its name in CUDA_VISIBLE_DEVICES."""
    if version("torch").endswith("+cpu"):  # a build that finds none and loads for a second
        return ()
    from torch import cuda

    found = cuda.device_count() if cuda.is_available() else 0
    given = os.environ.get("CUDA_VISIBLE_DEVICES")
    names = [name.strip() for name in given.split(",")] if given else map(str, range(found))
    return tuple(names)[:found]


def has_gpu() -> bool:
    """Whether torch finds a GPU."""
    return bool(gpus())


def gpu_memory() -> int:
    """Bytes of memory of the GPU with the least; there must be one."""
    from torch import cuda

    return min(cuda.get_device_properties(i).total_memory for i in range(cuda.device_count()))
