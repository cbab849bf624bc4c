"""What the ranks of several nodes compute in tests; each rank imports this file, and no more."""

import os
import signal
from pathlib import Path

import torch

from harness.execution.job import StageJob
from harness.pretraining import distributed

LISTENS = "0A"
"""State of a socket in Linux's tables."""


def add(job: StageJob, rank: int) -> list[float]:
    """The sum over all ranks of their numbers, their count, and the size of micro-batches."""
    total = distributed.summed(torch.tensor([rank, 1.0]))
    return [*total.tolist(), job.compute.micro_batch_tokens or 0]


def fail(how: str, node: int, job: StageJob, rank: int) -> list[float]:
    """The sum over the ranks, unless that of a node fails."""
    if rank == node:
        if how == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if how == "memory" and (job.compute.micro_batch_tokens or 0) > 16:
            raise torch.OutOfMemoryError("full")
        if how == "error":
            raise FloatingPointError("the loss is not finite")
    return add(job, rank)


def listening(rank: int) -> list[str]:
    """The addresses at which this rank listens, as in Linux's table of them: `0100007F` is that of
    loopback."""
    distributed.summed(torch.zeros(1))
    files = [str(file.readlink()) for file in Path("/proc/self/fd").iterdir() if file.is_symlink()]
    sockets = {file.removeprefix("socket:[").rstrip("]") for file in files if "socket:" in file}
    tables = [Path(f"/proc/self/net/{name}").read_text() for name in ("tcp", "tcp6")]
    rows = [line.split() for table in tables for line in table.splitlines()[1:]]
    return [row[1].split(":")[0] for row in rows if row[3] == LISTENS and row[9] in sockets]
