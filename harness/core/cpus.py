"""The CPUs that this process may use, how many threads of them a stage takes, and whether there is
a GPU."""

import os
from importlib.metadata import version


def num_cpus() -> int:
    """CPUs of this process: those of its affinity (taskset, a SLURM share) within the quota of its
    control group (containers), which may be fewer than the machine has."""
    from joblib import cpu_count  # loads for a quarter of a second

    return int(cpu_count())


def given_threads() -> int | None:
    """OMP_NUM_THREADS, or null if it is not set to a positive number."""
    given = os.environ.get("OMP_NUM_THREADS", "").split(",")[0]  # one number per nested level
    return (int(given) or None) if given.isdecimal() else None


def has_gpu() -> bool:
    """Whether torch finds a GPU."""
    if version("torch").endswith("+cpu"):  # a build that finds none and loads for a second
        return False
    from torch import cuda

    return bool(cuda.is_available())
