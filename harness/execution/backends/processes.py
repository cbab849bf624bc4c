"""Local worker processes."""

from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from importlib import import_module

from harness.core.compute import DEFAULT_COMPUTE, Compute
from harness.core.cpus import given_threads, gpu_memory, gpus, num_cpus
from harness.execution.backends.backend import Backend, Outcome, WorkerKilledError
from harness.execution.job import StageJob, StageOutput, Workspace
from harness.execution.worker import run_stage
from harness.execution.worker_process import WorkerProcess

STAGES = "harness.execution.stages"
"""Module that imports what stages need, which takes a worker longer than many a stage."""
KILLED = "its process was killed, as when memory runs out (see dmesg; lower --jobs)"
MAX_JOBS = 8
"""Default limit of workers; each holds its own copy of torch."""
SMALL_STAGE = 2**32
"""Bytes of a GPU for a stage of a small network, CUDA's own included: an estimate, not measured.
Pretraining takes fewer tokens at a time where memory runs out."""


class ProcessBackend(Backend):
    """A process pool of size one per job, so that a dying worker affects no other."""

    def __init__(self, workspace: Workspace, jobs: int | None = None) -> None:
        """Workers start with their first stage; null `jobs` is `default_jobs()`."""
        super().__init__(workspace)
        self.capacity = jobs or default_jobs()
        self._idle: list[WorkerProcess] = []
        self._running: dict[Future[StageOutput | None], tuple[str, WorkerProcess]] = {}

    def submit(self, job: StageJob) -> None:
        """Starts a stage in an idle or new worker."""
        slot = self._idle.pop() if self._idle else self._worker(job.compute)
        try:
            future = slot.submit(run_stage, job, self.workspace)
        except BrokenProcessPool:  # it died while it was idle
            slot.close()
            slot = self._worker(job.compute)
            future = slot.submit(run_stage, job, self.workspace)
        self._running[future] = (job.key, slot)

    def prepare(self, number: int, compute: Compute) -> None:
        """Starts workers, which import what stages need."""
        free = self.capacity - len(self._running) - len(self._idle)
        for _ in range(min(number, free)):
            slot = self._worker(compute)
            slot.submit(import_module, STAGES)
            self._idle.append(slot)

    def wait(self, seconds: float) -> Sequence[Outcome]:
        """Stages that ended within `seconds`."""
        ended, _ = wait(self._running, timeout=seconds, return_when=FIRST_COMPLETED)
        return [self._outcome(future) for future in ended]

    def _outcome(self, future: "Future[StageOutput | None]") -> Outcome:
        key, slot = self._running.pop(future)
        error = future.exception()
        if isinstance(error, BrokenProcessPool):
            slot.close()
            return Outcome(key, error=WorkerKilledError(KILLED), lost=True)
        self._idle.append(slot)
        return Outcome(key, error=error) if error else Outcome(key, future.result())

    def _worker(self, compute: Compute) -> WorkerProcess:
        """A new worker; of several GPUs, it sees the one that fewest workers have."""
        here = gpus_of_stages(compute)
        taken = [slot.gpu for slot in (*self._idle, *(slot for _, slot in self._running.values()))]
        gpu = min(here, key=taken.count) if len(here) > 1 else ""
        return WorkerProcess(compute.threads or default_threads(compute, self.capacity), gpu)

    def cancel(self, key: str) -> None:
        """Ends the worker of a stage."""
        for future, (running, slot) in list(self._running.items()):
            if running == key:
                del self._running[future]
                slot.close()

    def close(self) -> None:
        """Ends all workers."""
        for slot in (*self._idle, *(slot for _, slot in self._running.values())):
            slot.close()
        self._idle, self._running = [], {}


def default_threads(compute: Compute = DEFAULT_COMPUTE, jobs: int = 1) -> int:
    """OMP_NUM_THREADS if it is set, else an equal part of the CPUs for each stage with a GPU, and 1
    without.

    Args:
        jobs: stages at a time.
    """
    if given := given_threads():
        return given
    here = len(gpus_of_stages(compute))
    return max(1, num_cpus() // max(jobs, here)) if here else 1


def default_jobs(compute: Compute = DEFAULT_COMPUTE, has_small_networks: bool = False) -> int:
    """`cpu_jobs` without a GPU; with GPUs as many stages as may share one by `compute.resources`,
    else one for each, and more for small networks, which do not fill it.

    Args:
        has_small_networks: as of a plan.
    """
    here, share = len(gpus_of_stages(compute)), compute.resources.largest_gpu_share
    if here and share < 1:
        return here * int(1 / share)
    if here and not has_small_networks:
        return here
    fit = here * int(gpu_memory() // SMALL_STAGE) if here else MAX_JOBS
    return max(here, min(fit, cpu_jobs(compute.threads)))


def gpus_of_stages(compute: Compute) -> Sequence[str]:
    """The GPUs (`harness.core.cpus.gpus`) of which each stage takes one; with several
    `compute.devices`, all as one, and with the accelerator cpu none."""
    here = () if compute.accelerator == "cpu" else gpus()
    return (",".join(here),) if here and compute.devices != 1 else here


def cpu_jobs(threads: int | None = None) -> int:
    """As many stages as this process has CPUs for, at most MAX_JOBS: two small models in parallel
    train faster than one on two threads.

    Args:
        threads: of a stage; null: OMP_NUM_THREADS, or 1.
    """
    return max(1, min(MAX_JOBS, num_cpus() // (threads or given_threads() or 1)))
