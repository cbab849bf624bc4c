"""Training runs that share a GPU and are timed in turn.

All start at once, so that they load and compile at the same time. Then each trains for a few
updates while the others wait.
"""

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

import torch

from benchmarks.common import Measurements

SETTLING_UPDATES = 3
"""Updates at the start of a turn that are not timed. Up to 16 batches are made during the wait, so
a turn does not show whether batches are made fast enough; `transforms.py` does."""
MAX_WAIT = 600
"""Seconds until a run that sends nothing counts as failed."""
EXTRA_UPDATES = 32
"""Updates after those that are timed, as a run may report several at once."""


def num_updates(warmup: int, steps: int, repeats: int) -> int:
    """Updates of a run that is long enough for all turns."""
    return warmup + repeats * (SETTLING_UPDATES + steps) + EXTRA_UPDATES


class Turns:
    """The clock of a run: waits for its turns, and times the updates in them.

    Args:
        pipe: takes a message when the run is warm, and updates per second after each turn; a turn
            begins with a message from it.
        warmup: updates in which memory is allocated and networks are compiled.
        steps: updates of a turn that are timed.
    """

    def __init__(self, pipe: Connection, warmup: int, steps: int) -> None:
        self.pipe, self.steps = pipe, steps
        self.due, self.settles = warmup, False
        self.begin = (0, 0.0)

    def tick(self, done: int, *_: Any, **__: Any) -> None:
        """Called when so many updates are done."""
        if done < self.due:
            return
        on_gpu = torch.cuda.is_available()
        if on_gpu:
            torch.cuda.synchronize()  # more often would keep the GPU waiting
        now = time.perf_counter()
        if self.settles:
            self.begin, self.due, self.settles = (done, now), done + self.steps, False
            return
        if on_gpu:
            torch.cuda.empty_cache()  # for the others
        self.pipe.send((done - self.begin[0]) / (now - self.begin[1]))  # at first: is warm
        self.pipe.recv()
        self.due, self.settles = done + SETTLING_UPDATES, True


def updates_per_second(
    runs: Mapping[str, Callable[[Connection], None]], repeats: int
) -> Measurements:
    """Updates per second of each run in each of its turns; runs that fail are left out.

    Args:
        runs: name to a function that trains, with a clock of the pipe that it is given.
    """
    context, pipes, processes = get_context("spawn"), {}, []
    try:
        for name, run in runs.items():
            pipes[name], other = context.Pipe()
            process = context.Process(target=run, args=(other,))  # may have children
            process.start()
            processes.append(process)
            other.close()  # its end is then noticed
        ready = [name for name, pipe in pipes.items() if _received(name, pipe) is not None]
        found: Measurements = {name: [] for name in ready}
        for repeat in range(repeats):
            for name in ready:
                if len(found[name]) < repeat:  # it has ended
                    continue
                if (rate := _turn(name, pipes[name])) is not None:
                    found[name].append(rate)
                    print(f"{name}: {rate:.4g} updates/s", flush=True)
    finally:
        for process in processes:
            process.kill()
        for process in processes:
            process.join()  # the memory is free then
    return {name: rates for name, rates in found.items() if len(rates) == repeats}


def _turn(name: str, pipe: Connection) -> float | None:
    """Updates per second of a run in its next turn; null if it ended."""
    with suppress(ConnectionError):  # `_received` reports it
        pipe.send(None)
    return _received(name, pipe)


def _received(name: str, pipe: Connection) -> float | None:
    """The next message of a run; null if it ended."""
    with suppress(EOFError, ConnectionError):
        if pipe.poll(MAX_WAIT):
            return float(pipe.recv())
    print(f"{name}: ended early, or no message for {MAX_WAIT} s", flush=True)
    return None
