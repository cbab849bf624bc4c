"""What the ranks of several nodes compute in tests; each rank imports this file, and no more."""

import os
import signal

import torch

from harness.execution.job import StageJob
from harness.pretraining import distributed


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
