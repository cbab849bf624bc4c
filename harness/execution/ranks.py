"""The processes of a pretraining run on several devices."""

from collections.abc import Callable
from concurrent.futures import FIRST_EXCEPTION, Future, wait
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

import torch

from harness.core.compute import Compute
from harness.execution.worker_process import WorkerProcess
from harness.experiment import plugins
from harness.pretraining import distributed

Result = TypeVar("Result")
CHECK_SECONDS = 0.3
"""Interval at which the parent of the ranks calls `check`."""
GRACE_SECONDS = 1.0
"""Time after a first error in which a rank that died, its likely cause, is noticed."""


def on_ranks(
    function: Callable[[int], Result],
    num_ranks: int,
    compute: Compute,
    check: Callable[[], None] = lambda: None,
) -> Result:
    """Calls `function` in `num_ranks` new processes, which have joined in
    `harness.pretraining.distributed`; returns what rank 0 returns.

    The error of one rank ends all, and so does the end of this process.

    Args:
        function: of the rank; can be pickled.
        check: called in this process at intervals; what it raises ends the ranks.

    Raises:
        BrokenProcessPool: a rank died.
        Exception: whatever a rank raises.
    """
    threads = compute.threads or max(1, torch.get_num_threads() // num_ranks)
    ranks = [WorkerProcess(threads) for _ in range(num_ranks)]
    try:
        with TemporaryDirectory() as folder:
            meeting = Path(folder) / "ranks"
            calls = [
                process.submit(_call, function, rank, num_ranks, meeting, compute)
                for rank, process in enumerate(ranks)
            ]
            return _result(calls, check)
    finally:
        for process in ranks:
            process.close()


def _call(
    function: Callable[[int], Result], rank: int, num_ranks: int, meeting: Path, compute: Compute
) -> Result:
    distributed.join(rank, num_ranks, meeting, compute)
    with plugins.errors_with_place():  # the user's own exceptions may not pass between processes
        return function(rank)


def _result(calls: list[Future[Result]], check: Callable[[], None]) -> Result:
    """What the first call returns, once all have ended."""
    waiting = set(calls)
    while waiting:
        done, waiting = wait(waiting, CHECK_SECONDS, FIRST_EXCEPTION)
        check()
        if any(call.exception() for call in done):
            wait(calls, GRACE_SECONDS)
            _raise([call.exception() if call.done() else None for call in calls])
    return calls[0].result()


def _raise(errors: list[BaseException | None]) -> None:
    for rank, error in enumerate(errors):
        if isinstance(error, BrokenProcessPool):
            raise BrokenProcessPool(f"process {rank} of {len(errors)} of the stage died") from error
    raise next(error for error in errors if error)
