"""A pretraining stage on the devices of one node or several, of which the first leads.

The others follow it through files in the folder of the stage, which all nodes share.
"""

import json
import time
from collections.abc import Callable
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import NoReturn, TypeVar

import torch

from harness.core.files import write_atomically
from harness.execution.job import Node, StageJob
from harness.execution.ranks import on_ranks
from harness.pretraining.distributed import (
    Ranks,
    default_micro_batch_tokens,
    is_connection_error,
    num_devices,
)

Result = TypeVar("Result")
POLL_SECONDS = 0.2
"""Interval at which a node looks for files of the others."""
JOIN_SECONDS = 600.0
"""Longest wait of a node for the first."""
REPORT_SECONDS = 5.0
"""Time after a lost connection in which the other nodes report its cause."""


class NodeError(RuntimeError):
    """A stage failed on another node than the first."""


class _EndedError(Exception):
    """The first node has ended the stage."""


@dataclass(frozen=True)
class _Attempt:
    """What the nodes must agree on."""

    devices: int
    """Of each node."""
    micro_batch_tokens: int


@dataclass(frozen=True)
class _Group:
    """The nodes of a stage, with the folder of their files."""

    folder: Path
    num_nodes: int

    def begin(self, number: int, attempt: _Attempt) -> None:
        write_atomically(self.folder / f"{number}.json", json.dumps(asdict(attempt)))

    def begun(self, number: int) -> _Attempt | None:
        path = self.folder / f"{number}.json"
        return _Attempt(**json.loads(path.read_text())) if path.exists() else None

    def ranks(self, number: int, attempt: _Attempt, node: int) -> Ranks:
        return Ranks(attempt.devices, self.folder / f"{number}.address", self.num_nodes, node)

    def report(self, number: int, node: int, error: Exception) -> None:
        """Leaves the error of a node for the first, unless that has deleted the folder."""
        if self.folder.exists():
            content = {"type": type(error).__name__, "line": f"node {node}: {error}"}
            write_atomically(self.folder / f"{number}-{node}.error", json.dumps(content))

    def raise_reported(self, number: int) -> None:
        """Raises the error that another node has reported."""
        for path in sorted(self.folder.glob(f"{number}-*.error")):
            error = json.loads(path.read_text())
            known = {one.__name__: one for one in (torch.OutOfMemoryError, BrokenProcessPool)}
            raise known.get(error["type"], NodeError)(error["line"])


def lead(
    function: Callable[[StageJob, int], Result],
    job: StageJob,
    folder: Path,
    check: Callable[[], None],
) -> Result:
    """Calls `function` with the job and the number of the rank in a process for each device of
    this node, and of the nodes that follow; returns what rank 0 returns. When memory runs out, all
    begin again with smaller micro-batches.

    Args:
        folder: where the nodes exchange files; empty.
        check: called at intervals; what it raises ends all ranks.

    Raises:
        NodeError: another node failed.
        BrokenProcessPool: a rank died, or a node.
        Exception: whatever a rank of this node raises.
    """
    group = _Group(folder, job.compute.num_nodes)
    devices, tokens = num_devices(job.compute), job.compute.micro_batch_tokens
    tokens = tokens or default_micro_batch_tokens(job.compute)
    shortest = min(phase["sequence_length"] for phase in job.spec["pretrain"]["phases"])
    number = 0
    while True:
        attempt = _Attempt(devices, tokens)
        group.begin(number, attempt)
        try:
            return _train(function, job, group, number, attempt, check)
        except torch.OutOfMemoryError:
            number, tokens = number + 1, tokens // 2
            if tokens < shortest:
                raise


def _train(
    function: Callable[[StageJob, int], Result],
    job: StageJob,
    group: _Group,
    number: int,
    attempt: _Attempt,
    check: Callable[[], None],
    node: int = 0,
) -> Result:
    settings = {"micro_batch_tokens": attempt.micro_batch_tokens}
    compute = job.compute.model_copy(update=settings)
    call = partial(function, replace(job, compute=compute))
    ranks = group.ranks(number, attempt, node)

    def check_all() -> None:
        check()
        if node == 0:
            group.raise_reported(number)

    try:
        return on_ranks(call, ranks, compute, check_all)
    except RuntimeError as error:
        if node == 0 and is_connection_error(error):
            _raise_cause(group, number, error)
        raise


def _raise_cause(group: _Group, number: int, error: RuntimeError) -> NoReturn:
    """Raises what ended the connection to another node."""
    deadline = time.monotonic() + REPORT_SECONDS
    while time.monotonic() < deadline:
        group.raise_reported(number)
        time.sleep(POLL_SECONDS)
    raise BrokenProcessPool(f"a node of the stage was lost: {error}") from error


def follow(
    function: Callable[[StageJob, int], object],
    job: StageJob,
    folder: Path,
    node: Node,
    is_led: Callable[[], bool],
) -> None:
    """Takes part in a stage that the first node leads, until that has ended it. Errors of this node
    are reported to the first.

    Args:
        function: that of `lead`.
        folder: that of `lead`.
        is_led: whether the first node computes the stage now.

    Raises:
        TimeoutError: the first node has not begun after JOIN_SECONDS.
    """

    def check() -> None:
        if not is_led():
            raise _EndedError

    group = _Group(folder, job.compute.num_nodes)
    for number in count():
        if (attempt := _wait(group, number, is_led)) is None:
            return
        try:
            _train(function, job, group, number, attempt, check, node.index)
        except _EndedError:
            return
        except Exception as error:  # whatever a rank raises
            group.report(number, node.index, error)


def _wait(group: _Group, number: int, is_led: Callable[[], bool]) -> _Attempt | None:
    """The next attempt of the first node; null once it has ended the stage."""
    deadline = time.monotonic() + JOIN_SECONDS
    while True:
        # In this order, as the first node may begin and end in between.
        goes_on = number == 0 or is_led()
        if attempt := group.begun(number):
            return attempt
        if not goes_on:
            return None
        if number == 0 and time.monotonic() > deadline:
            raise TimeoutError(f"the first node must begin within {JOIN_SECONDS:.0f} s; run again")
        time.sleep(POLL_SECONDS)
