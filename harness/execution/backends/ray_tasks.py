"""Stages as tasks of a Ray cluster, or of a Ray that is started on this machine for the run."""

import logging
import os
import signal
import socket
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from harness.core.compute import Compute
from harness.core.cpus import given_threads
from harness.execution.backends.backend import Backend, Outcome
from harness.execution.backends.ray_nodes import NodeGroup, Options
from harness.execution.backends.remote import compute_stage, nodes_of, surroundings
from harness.execution.devices import ON_DEVICES
from harness.execution.job import Node, StageJob, Workspace

LOCAL = "local"
"""Ray's address of a cluster that is started on this machine and ends with the run."""
OBJECT_STORE_BYTES = 100_000_000
"""Shared memory of a local Ray: artifacts are files, so that jobs and outputs are all it holds."""
CONNECT_SECONDS = 10.0
"""Longest wait for a cluster to answer."""
ROUNDING = 1e-9
"""Of the number of fractions of a GPU that fit on it: 1 / 0.1 may be below 10."""

Resources = Mapping[str, float]
"""Name to amount of what a node of the cluster has: CPU, GPU, memory (bytes)."""


class RayBackend(Backend):
    """A task per stage, with CPUs by its threads and a GPU of its own where stages use one. Ray
    never retries a task: the executor does."""

    def __init__(
        self, workspace: Workspace, jobs: int | None = None, address: str | None = None
    ) -> None:
        """Connects with the first stage; null `jobs` is all that the cluster can compute.

        Args:
            address: `auto`, HOST:PORT or ray://HOST:PORT; null is RAY_ADDRESS, or a Ray on this
                machine. It is not used if this process is connected to a cluster already.

        Raises:
            ValueError: Ray is not installed.
        """
        super().__init__(workspace)
        try:
            import ray
        except ImportError:
            line = "the executor ray needs a package: pip install 'pretraining-harness[ray]'"
            raise ValueError(line) from None
        self._ray: Any = ray
        self._jobs = jobs
        self._address = address or os.environ.get("RAY_ADDRESS") or LOCAL
        self._connected = False
        self._shares: dict[str, Share] = {}
        """Kind of stage to what it takes."""
        self._running: dict[Any, str] = {}
        """Task that computes a stage to its key."""
        self._groups: dict[str, NodeGroup] = {}
        """Key to the tasks of a stage on several nodes."""
        self._out_of_memory: set[str] = set()

    @property
    def capacity(self) -> int:  # type: ignore[override]  # nodes join and leave
        """Stages that the cluster can compute at a time now, at least 1.

        Raises:
            ValueError: no connection to the cluster.
        """
        shares = list(self._shares.values()) or [Share(threads=1, cpus=1)]
        slots = sum(max(share.slots(node) for share in shares) for node in self._nodes())
        return max(1, min(slots, self._jobs or slots))

    def submit(self, job: StageJob) -> None:
        """Queues a stage in the cluster. One that was lost for lack of memory gets twice its share.

        Raises:
            ValueError: no connection to the cluster, or no node is large enough for a stage.
        """
        if job.kind not in self._shares:
            self._shares[job.kind] = share_of(job.compute, self._nodes(), job.kind)
        share = self._shares[job.kind]
        # Ray starts a new process for each task with a GPU, which frees the GPU's memory.
        options = {
            "num_cpus": share.cpus,
            "num_gpus": share.gpus,
            "memory": share.memory_again if job.key in self._out_of_memory else share.memory,
            "resources": dict(share.custom),
            "name": f"{job.kind} {job.label}",
        }
        self._running[self._start(job, share, options)] = job.key

    def _start(self, job: StageJob, share: "Share", options: dict[str, Any]) -> Any:
        """The task that computes a stage; of a stage on several nodes, that of the first."""

        def start(options: Options, node: Node) -> Any:
            arguments = (job, self.workspace, node, *surroundings(share.threads))
            return self._task.options(**options).remote(*arguments)

        nodes = nodes_of(job)
        if len(nodes) == 1:
            return start(options, nodes[0])
        if sum(share.slots(node) > 0 for node in self._nodes()) < len(nodes):
            raise ValueError(
                f"the Ray cluster must have {len(nodes)} nodes (compute.num_nodes) that each have "
                f"{_taken(share)}; add nodes, or change compute.num_nodes"
            )
        self._groups[job.key] = group = NodeGroup(self._ray, nodes, options)
        return group.start(nodes, start)

    @cached_property
    def _task(self) -> Any:
        return self._ray.remote(max_retries=0)(compute_stage)

    def wait(self, seconds: float) -> Sequence[Outcome]:
        """Stages that ended within `seconds`."""
        if not self._running:
            return []
        running = list(self._running)
        self._ray.wait(running, timeout=seconds)  # for the first; the others may have ended, too
        ended, _ = self._ray.wait(running, num_returns=len(running), timeout=0)
        return [self._outcome(task) for task in ended]

    def _outcome(self, task: Any) -> Outcome:
        key, errors = self._running.pop(task), self._ray.exceptions
        self._end_group(key)
        try:
            return Outcome(key, self._ray.get(task))
        except errors.RayTaskError as error:  # raised by the stage
            lost = isinstance(error.cause, BrokenProcessPool)  # of a process for a device
            return Outcome(key, error=error.cause, lost=lost)
        except errors.RayError as error:  # a worker, a node or their memory
            if isinstance(error, errors.OutOfMemoryError):
                self._out_of_memory.add(key)
            return Outcome(key, error=error, lost=True)

    def cancel(self, key: str) -> None:
        """Kills the worker of a stage, or takes the stage out of the queue."""
        for task, running in list(self._running.items()):
            if running == key:
                del self._running[task]
                self._ray.cancel(task, force=True)
                self._end_group(key)

    def _end_group(self, key: str) -> None:
        if group := self._groups.pop(key, None):
            group.end()

    def close(self) -> None:
        """Cancels running stages and disconnects; a local Ray ends."""
        for key in list(self._running.values()):
            self.cancel(key)
        if self._connected:
            self._ray.shutdown()
            self._connected = False

    def _nodes(self) -> list[Resources]:
        """The living nodes of the cluster, after connecting to it."""
        if not self._ray.is_initialized():
            self._connect()
        return [node["Resources"] for node in self._ray.nodes() if node["Alive"]]

    def _connect(self) -> None:
        settings: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
        if self._address == LOCAL:
            settings |= {"include_dashboard": False, "object_store_memory": OBJECT_STORE_BYTES}
        try:
            _check_reachable(self._address)
            with _sigterm_handler_kept():
                self._ray.init(address=self._address, **settings)
        except Exception as error:  # of many types, also ImportError for want of ray[client]
            reason = " ".join(str(error).split())
            where = f"the Ray cluster at {self._address!r}"
            raise ValueError(f"{where} must be running and reachable, but: {reason}") from error
        self._connected = True


def _check_reachable(address: str) -> None:
    """Raises an OSError if nothing answers at HOST:PORT, for which Ray would wait for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if port.isdecimal():
        socket.create_connection((host.strip("[]"), int(port)), timeout=CONNECT_SECONDS).close()


@dataclass(frozen=True)
class Share:
    """What one stage takes of a node."""

    threads: int
    cpus: int
    gpus: float = 0
    memory: int = 0
    """Bytes: unless declared, an equal part of the node's memory, so that no stage has more beside
    it than fit."""
    memory_again: int = 0
    """Bytes at the second attempt of a stage for which it did not suffice."""
    custom: Mapping[str, float] = field(default_factory=dict)

    def slots(self, node: Resources) -> int:
        """Stages that a node can compute at a time."""
        taken = {"CPU": self.cpus, "GPU": self.gpus, "memory": self.memory, **self.custom}
        parts = (node.get(name, 0) / amount for name, amount in taken.items() if amount)
        return int(min(parts) + ROUNDING)


def share_of(compute: Compute, nodes: Sequence[Resources], kind: str) -> Share:
    """What a stage of a kind takes by `compute.resources`, or else `compute.threads` CPUs, or else
    OMP_NUM_THREADS, the CPUs of a node per GPU, or 1 without GPUs.

    Raises:
        ValueError: no node has as much.
    """
    declared = compute.resources.of(kind)
    with_gpus = [node for node in nodes if node.get("GPU", 0) >= 1]
    uses_gpu = compute.accelerator == "gpu" or (compute.accelerator == "auto" and bool(with_gpus))
    devices = compute.devices if kind in ON_DEVICES and compute.devices != "auto" else 1
    gpus = devices * int(uses_gpu) if declared.gpus is None else declared.gpus
    per_gpu = [int(node.get("CPU", 0) * gpus / node["GPU"]) for node in with_gpus] if gpus else []
    free = compute.threads or declared.cpus or given_threads()
    threads = free or max(1, min(per_gpu, default=1) // devices)
    cpus = declared.cpus or threads * devices
    memory = int((declared.memory_gb or 0) * 2**30)
    share = Share(threads, cpus, gpus, memory, custom=declared.custom)
    large = [node for node in nodes if share.slots(node)]
    if not large:
        raise ValueError(
            f"a node of the Ray cluster must have what a stage takes, {_taken(share)}, but none "
            "does; change compute.threads, compute.accelerator or compute.resources, or add a node"
        )
    memory = memory or int(min(node.get("memory", 0) / share.slots(node) for node in large))
    again = min(2 * memory, int(min(node.get("memory", 0) for node in large)))
    return replace(share, memory=memory, memory_again=again)


def _taken(share: Share) -> str:
    gpus = f" and {share.gpus:g} GPU" if share.gpus else ""
    memory = f", {share.memory / 2**30:g} GB" if share.memory else ""
    custom = "".join(f", {amount:g} {name}" for name, amount in share.custom.items())
    return f"{share.cpus} CPUs{gpus}{memory}{custom}"


@contextmanager
def _sigterm_handler_kept() -> Iterator[None]:
    """Restores the handler of SIGTERM, which Ray replaces when it connects; Ray leaves it alone in
    other threads than the main one."""
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, before)
