"""A local process that computes stages, or one of several that compute a stage together."""

import os
import pickle
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from types import ModuleType
from typing import Any, TypeVar

from harness.core.signals import interrupts_blocked

Result = TypeVar("Result")
CHECK_SECONDS = 0.5
"""Interval at which a worker checks whether its parent is alive."""


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


class ForeignError(RuntimeError):
    """An error that cannot be sent to another process, in words: that process would take this one
    for killed."""


def _call(function: Callable[..., Result], *arguments: Any) -> Result:
    try:
        return function(*arguments)
    except Exception as error:  # whatever a stage raises goes to the process that submitted it
        try:
            pickle.loads(pickle.dumps(error))
        except Exception:  # whatever an exception with arguments of its own raises
            raise ForeignError(f"{type(error).__name__}: {error}") from error
        raise


class WorkerProcess:
    """A pool of one process that can be ended at any time."""

    def __init__(self, threads: int, gpu: str = "") -> None:
        """A process that starts with its first call.

        Args:
            threads: CPU threads.
            gpu: name in CUDA_VISIBLE_DEVICES of the only GPU that it sees; empty: it sees those of
                this process.
        """
        self.gpu = gpu
        context = get_context("spawn")
        # A pipe, not an Event: a worker that dies with the lock of an Event would block `close`.
        receiver, self._stop = context.Pipe(duplex=False)
        arguments = (os.getpid(), threads, receiver, gpu)
        self.pool = ProcessPoolExecutor(
            1, mp_context=context, initializer=start_worker, initargs=arguments
        )

    def submit(self, function: Callable[..., Result], *arguments: Any) -> Future[Result]:
        """Calls a function of a module, in the process."""
        # The parent handles an interrupt; one that is just starting would print a traceback.
        with _without_main(), interrupts_blocked():
            return self.pool.submit(_call, function, *arguments)

    def close(self) -> None:
        """Ends the process."""
        self._stop.close()
        self.pool.shutdown(wait=False, cancel_futures=True)


def start_worker(parent: int, threads: int, stop: Connection, gpu: str) -> None:
    """Initialises a worker process: limits its CPU threads, and ends it with its parent or when
    the other end of `stop` is closed.

    Args:
        parent: process id.
        threads: CPU threads of torch and of the tokenizers.
        stop: the receiving end of a pipe.
        gpu: as of `WorkerProcess`.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # where it is not blocked

    def exit_with_parent() -> None:
        while os.getppid() == parent and not stop.poll(CHECK_SECONDS):
            pass
        os._exit(1)

    threading.Thread(target=exit_with_parent, daemon=True).start()
    if gpu:  # read when torch first uses CUDA
        os.environ["CUDA_VISIBLE_DEVICES"] = gpu
    limit_threads(threads)


def limit_threads(threads: int) -> None:
    """Limits the CPU threads of torch and of the tokenizers in this process, which has imported
    neither, and lets threads of torch sleep while they wait, unless OMP_WAIT_POLICY is set."""
    os.environ["OMP_NUM_THREADS"] = str(threads)
    # Threads that wait would otherwise keep their CPU, which slows training with several threads
    # to as little as a tenth beside other work (benchmarks/results/concurrent_runs.md).
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    os.environ["TOKENIZERS_PARALLELISM"] = "true" if threads > 1 else "false"
    os.environ["RAYON_NUM_THREADS"] = str(threads)
    import torch
    from tqdm import tqdm

    torch.set_num_threads(threads)
    tqdm.set_lock(threading.RLock())  # the default is a semaphore, which os._exit would leak


@contextmanager
def torch_threads(threads: int) -> Iterator[None]:
    """Limits the CPU threads of torch in the block, in a process that may have loaded it."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)
