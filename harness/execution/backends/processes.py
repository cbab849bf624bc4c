"""Local worker processes."""

import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from types import ModuleType

from harness.execution.backends.backend import Backend, Outcome
from harness.execution.job import StageJob, StageOutput, Workspace
from harness.execution.worker import run_stage

MAX_JOBS = 8
"""Default limit of workers; each holds its own copy of torch."""
CHECK_SECONDS = 0.5
"""Interval at which a worker checks whether its parent is alive."""


class ProcessBackend(Backend):
    """A process pool of size one per job, so that a dying worker affects no other."""

    def __init__(self, workspace: Workspace, jobs: int | None = None) -> None:
        """Workers start with their first stage; null `jobs` is `default_jobs()`."""
        super().__init__(workspace)
        self.capacity = jobs or default_jobs()
        self._idle: list[_Slot] = []
        self._running: dict[Future[StageOutput | None], tuple[str, _Slot]] = {}

    def submit(self, job: StageJob) -> None:
        """Starts a stage in an idle or new worker."""
        slot = self._idle.pop() if self._idle else _Slot(job.compute.threads or default_threads())
        with _without_main():
            future = slot.pool.submit(run_stage, job, self.workspace)
        self._running[future] = (job.key, slot)

    def wait(self, seconds: float) -> Sequence[Outcome]:
        """Stages that ended within `seconds`."""
        ended, _ = wait(self._running, timeout=seconds, return_when=FIRST_COMPLETED)
        return [self._outcome(future) for future in ended]

    def _outcome(self, future: "Future[StageOutput | None]") -> Outcome:
        key, slot = self._running.pop(future)
        error = future.exception()
        if isinstance(error, BrokenProcessPool):
            slot.close()
            return Outcome(key, error=error, lost=True)
        self._idle.append(slot)
        return Outcome(key, error=error) if error else Outcome(key, future.result())

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


@contextmanager
def _without_main() -> Iterator[None]:
    """Hides the script of this process from workers that start in the block.

    They need nothing of it, and would import it: a script that runs an experiment without an `if
    __name__ == "__main__"` guard would run it again in each worker.
    """
    script = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = script


class _Slot:
    """A pool of one process that can be ended at any time."""

    def __init__(self, threads: int) -> None:
        context = get_context("spawn")
        # A pipe, not an Event: a worker that dies with the lock of an Event would block `close`.
        receiver, self._stop = context.Pipe(duplex=False)
        arguments = (os.getpid(), threads, receiver)
        self.pool = ProcessPoolExecutor(
            1, mp_context=context, initializer=start_worker, initargs=arguments
        )

    def close(self) -> None:
        """Ends the process."""
        self._stop.close()
        self.pool.shutdown(wait=False, cancel_futures=True)


def start_worker(parent: int, threads: int, stop: Connection) -> None:
    """Initialises a worker process: limits its CPU threads, and ends it with its parent or when
    the other end of `stop` is closed.

    Args:
        parent: process id.
        threads: CPU threads of torch and of the tokenizers.
        stop: the receiving end of a pipe.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles an interrupt
    os.environ["OMP_NUM_THREADS"] = str(threads)
    os.environ["TOKENIZERS_PARALLELISM"] = "true" if threads > 1 else "false"
    os.environ["RAYON_NUM_THREADS"] = str(threads)

    def exit_with_parent() -> None:
        while os.getppid() == parent and not stop.poll(CHECK_SECONDS):
            pass
        os._exit(1)

    threading.Thread(target=exit_with_parent, daemon=True).start()
    import torch
    from tqdm import tqdm

    torch.set_num_threads(threads)
    tqdm.set_lock(threading.RLock())  # the default is a semaphore, which os._exit would leak


def default_threads() -> int:
    """OMP_NUM_THREADS if it is set, else all cores with a GPU and 1 without."""
    from torch import cuda

    given = os.environ.get("OMP_NUM_THREADS", "").split(",")[0]  # one number per nested level
    if given.isdecimal() and int(given):
        return int(given)
    return (os.cpu_count() or 1) if cuda.is_available() else 1


def default_jobs() -> int:
    """1 with a GPU, else the number of CPU cores, at most MAX_JOBS: two small models in parallel
    train faster than one on two threads."""
    from torch import cuda

    return 1 if cuda.is_available() else min(MAX_JOBS, os.cpu_count() or 1)
