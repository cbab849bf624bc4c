"""The processes of a pretraining run on the devices of this node."""

from collections.abc import Callable
from concurrent.futures import FIRST_EXCEPTION, Future, wait
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

import torch

from harness.core.compute import Compute
from harness.execution.worker_process import WorkerProcess
from harness.experiment import plugins
from harness.pretraining import distributed
from harness.pretraining.distributed import Ranks

Result = TypeVar("Result")
CHECK_SECONDS = 0.3
"""Interval at which the parent of the ranks calls `check`."""
GRACE_SECONDS = 1.0
"""Time after a first error in which a rank that died, its likely cause, is noticed."""


def on_ranks(
    function: Callable[[int], Result],
    ranks: Ranks,
    compute: Compute,
    check: Callable[[], None] = lambda: None,
) -> Result:
    """Calls `function` in a new process for each device of this node, which have joined in
    `harness.pretraining.distributed`; returns what the first of them returns.

    The error of one rank ends all of this node, and so does the end of this process.

    Args:
        function: of the rank; can be pickled.
        check: called in this process at intervals; what it raises ends the ranks.

    Raises:
        BrokenProcessPool: a rank died.
        Exception: whatever a rank raises.
    """
    threads = compute.threads or max(1, torch.get_num_threads() // ranks.devices)
    processes = [WorkerProcess(threads) for _ in range(ranks.devices)]
    try:
        calls = [
            process.submit(_call, function, device, ranks, compute)
            for device, process in enumerate(processes)
        ]
        return _result(calls, check)
    finally:
        for process in processes:
            process.close()


def _call(function: Callable[[int], Result], device: int, ranks: Ranks, compute: Compute) -> Result:
    distributed.join(device, ranks, compute)
    with plugins.errors_with_place():  # the user's own exceptions may not pass between processes
        return function(distributed.rank())


def _result(calls: list[Future[Result]], check: Callable[[], None]) -> Result:
    """What the first call returns, once all have ended."""
    waiting = set(calls)
    while waiting:
        done, waiting = wait(waiting, CHECK_SECONDS, FIRST_EXCEPTION)
        if any(call.exception() for call in done):
            wait(calls, GRACE_SECONDS)
            _raise([call.exception() if call.done() else None for call in calls])
        check()
    return calls[0].result()


def _raise(errors: list[BaseException | None]) -> None:
    for rank, error in enumerate(errors):
        if isinstance(error, BrokenProcessPool):
            raise BrokenProcessPool(f"process {rank} of {len(errors)} of the stage died") from error
    found = [error for error in errors if error]
    raise min(found, key=distributed.is_connection_error)  # the cause before its consequences
