"""A cluster in virtual time, and a store in memory, with which the executor runs real plans."""

import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from heapq import heappop, heappush
from itertools import count
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from rich.console import Console

from harness.execution import executor, progress
from harness.execution.backends.backend import Backend, Outcome
from harness.execution.execution_result import Execution
from harness.execution.executor import execute
from harness.execution.job import StageJob, StageOutput, Workspace
from harness.execution.progress import Display
from harness.execution.time_left import STAGE_SECONDS
from harness.execution.tracker import Tracker
from harness.plan.plan import Plan
from harness.store.store import StageResult, Store

REPAIR_SECONDS = 600.0
RESUMED = "pretrain"
"""The kind of stage that saves checkpoints."""
LOSS, RETURN = "a node is lost", "a node returns"
"""Events beside the ends of stages."""


class SimulatedCluster(Backend):
    """Nodes that hold one stage each, in virtual time."""

    def __init__(
        self,
        workspace: Workspace,
        seconds: Mapping[str, float],
        nodes: int,
        losses_per_hour: float = 0.0,
        seed: int = 0,
    ) -> None:
        """An idle cluster.

        Args:
            seconds: key to duration of each stage.
            losses_per_hour: expected losses of each node, which is back after REPAIR_SECONDS.
        """
        super().__init__(workspace)
        self.capacity, self.seconds = nodes, seconds
        self.now = 0.0
        self.rng, self.mean_seconds_to_loss = np.random.default_rng(seed), np.inf
        self.order: list[str] = []
        """Keys in the order of their submission."""
        self.lost: list[str] = []
        self._jobs: dict[str, tuple[StageJob, float]] = {}
        """Key to job and virtual start of the running stages."""
        self._shares: dict[str, float] = {}
        """Key to the share of its updates that a lost stage had done."""
        self._ticket = count()
        self._events: list[tuple[float, int, str]] = []
        """(time, ticket, key of a stage that ends, LOSS or RETURN)."""
        self._tickets: dict[str, int] = {}
        """Key to the ticket of the end of a running stage."""
        if losses_per_hour:
            self.mean_seconds_to_loss = 3600 / losses_per_hour
            for _ in range(nodes):
                self._schedule(self.rng.exponential(self.mean_seconds_to_loss), LOSS)

    def submit(self, job: StageJob) -> None:
        """Starts a stage on an idle node."""
        assert len(self._jobs) < self.capacity
        self.order.append(job.key)
        self._jobs[job.key] = job, self.now
        left = 1 - (self._shares.get(job.key, 0.0) if job.kind == RESUMED else 0.0)
        self._tickets[job.key] = self._schedule(self.seconds[job.key] * left, job.key)

    def wait(self, seconds: float) -> Sequence[Outcome]:
        """Advances the clock to the next end or loss, or by `seconds`."""
        until = self.now + seconds
        while self._events and self._events[0][0] <= until:
            self.now, ticket, key = heappop(self._events)
            outcome = self._happen(ticket, key)
            if outcome:
                return [outcome]
        self.now = until
        return []

    def _happen(self, ticket: int, key: str) -> Outcome | None:
        if key == RETURN:
            self.capacity += 1
            self._schedule(self.rng.exponential(self.mean_seconds_to_loss), LOSS)
            return None
        if key == LOSS:
            return self._lose_node()
        if self._tickets.get(key) != ticket:  # of a stage that was lost before its end
            return None
        del self._jobs[key], self._tickets[key]
        found = {"seconds": self.seconds[key], STAGE_SECONDS: self.seconds[key]}
        return Outcome(key, StageOutput(found, "simulated"))

    def _lose_node(self) -> Outcome | None:
        """The loss of a node, which is as likely to be idle as it has idle ones beside it."""
        self._schedule(REPAIR_SECONDS, RETURN)
        place = int(self.rng.integers(self.capacity))
        self.capacity -= 1
        if place >= len(self._jobs):
            return None
        key = list(self._jobs)[place]
        return self.lose(key, self.progress(key)["done"])

    def lose(self, key: str, share: float) -> Outcome:
        """The outcome of a running stage that is lost with this share of its updates done."""
        self._shares[key] = share
        self.cancel(key)
        self.lost.append(key)
        return Outcome(key, error=RuntimeError("the node was lost"), lost=True)

    def _schedule(self, seconds: float, key: str) -> int:
        ticket = next(self._ticket)
        heappush(self._events, (self.now + seconds, ticket, key))
        return ticket

    def progress(self, key: str) -> dict[str, Any]:
        """Share of the duration that has passed; for a lost stage, when it was lost."""
        if key not in self._jobs:
            return {"done": self._shares.get(key, 0.0), "total": 1}
        job, start = self._jobs[key]
        before = self._shares.get(key, 0.0) if job.kind == RESUMED else 0.0
        return {"done": before + (self.now - start) / max(1e-9, self.seconds[key]), "total": 1}

    def cancel(self, key: str) -> None:
        """Frees the node of a stage."""
        del self._jobs[key], self._tickets[key]

    def close(self) -> None:
        """Frees all nodes."""
        self._jobs.clear()

    # The clock of the executor and its display, in place of the module `time`.

    perf_counter = staticmethod(time.perf_counter)

    def monotonic(self) -> float:
        """Virtual seconds."""
        return self.now

    def sleep(self, seconds: float) -> None:
        """Lets virtual time pass."""
        self.now += seconds


class MemoryStore(Store):
    """A store without tables and files."""

    def __init__(self, root: Path) -> None:
        self.root, self.is_remote = root, False
        self.results: dict[str, StageResult] = {}

    def finished(self, keys: Iterable[str] | None = None) -> dict[str, StageResult]:
        """What was recorded."""
        return dict(self.results)

    def find(self, key: str) -> StageResult | None:
        """What was recorded of a stage."""
        return self.results.get(key)

    def record(
        self,
        key: str,
        kind: str,
        label: str,
        spec: Mapping[str, Any],
        metrics: Mapping[str, float | None],
        folder: Path,
        made_with: str = "",
        adopted: str = "",
        left_out: str = "",
    ) -> StageResult:
        """Keeps a result."""
        known = {name: value for name, value in metrics.items() if value is not None}
        self.results[key] = StageResult(
            key, kind, label, known, folder.as_uri(), "", made_with, adopted, left_out=left_out
        )
        return self.results[key]

    def fetch(self, record: StageResult) -> Path | None:
        """The folder, intact."""
        return self.root

    def forget(self, record: StageResult) -> None:
        """Drops a result."""
        self.results.pop(record.key, None)


class NoViews(Tracker):
    """A tracker that shows nothing."""

    def __init__(self, plan: Plan, store: Store, workspace: Workspace) -> None:
        super().__init__(plan, store, workspace)
        self.views = []


def run_virtually(
    plan: Plan, backend: SimulatedCluster, store: MemoryStore | None = None
) -> Execution:
    """Runs a plan on a simulated cluster, into a store in memory.

    Args:
        store: null: an empty one.
    """
    store = store or MemoryStore(backend.workspace.root)
    with ExitStack() as stack:
        stack.enter_context(patch.object(executor, "time", backend))
        stack.enter_context(patch.object(progress, "time", backend))
        stack.enter_context(patch.object(executor, "Tracker", NoViews))
        display = stack.enter_context(Display(plan, Console(quiet=True)))
        return execute(plan, store, backend, display)
