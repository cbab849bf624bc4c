"""The CPUs that this process may use, and how many threads of them a stage takes."""

import os


def num_cpus() -> int:
    """CPUs of this process: those of its affinity (taskset, a SLURM share) within the quota of its
    control group (containers), which may be fewer than the machine has."""
    from joblib import cpu_count  # loads for a quarter of a second

    return int(cpu_count())


def given_threads() -> int | None:
    """OMP_NUM_THREADS, or null if it is not set to a positive number."""
    given = os.environ.get("OMP_NUM_THREADS", "").split(",")[0]  # one number per nested level
    return (int(given) or None) if given.isdecimal() else None
