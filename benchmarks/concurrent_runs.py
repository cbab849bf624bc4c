"""Speed of several training runs beside each other and beside other work, all together.

    python benchmarks/concurrent_runs.py [--repeats 5] [--seconds 10] [--batch-size 16]

Each run pretrains a BERT (MLM, 128 tokens, vocabulary 8,192, bf16) with
`harness.pretraining.run.fit` in a process of its own, as a worker of the harness does. The runs of
a setting start at the same time and are timed for the same seconds; the figure is the sum of their
tokens per second.

- On CPUs: runs x threads of each, on the quiet machine and beside as many busy processes as there
  are CPUs; with OMP_WAIT_POLICY `passive`, as workers have it, and unset (the default of OpenMP:
  threads that wait keep their CPU for a while). The fair share is what the scheduler would give
  to the threads if all that wait for a CPU had the same time, relative to the quiet machine.
- On a GPU: several runs that share it, as `resources: {gpus: 0.5}` allows.
"""

import statistics
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from multiprocessing.synchronize import Barrier
from pathlib import Path
from time import perf_counter
from typing import Any

import torch

from benchmarks import common
from benchmarks.pretraining_workloads import Shape, Workload
from harness.core.compute import Compute
from harness.core.cpus import has_gpu, num_cpus
from harness.pretraining.module import PretrainingModule
from harness.pretraining.objectives.loader import Feed, pinned
from harness.pretraining.run import fit

NUM_BATCHES = 50
"""Batches of a run, which are repeated."""
WARMUP = 5
"""Updates before the clock starts."""
MAX_STEPS = 1_000_000
GPU_RUNS = (1, 4, 16)
_barrier: Barrier | None = None


@dataclass(frozen=True)
class Setting:
    """Runs beside each other."""

    runs: int
    threads: int
    policy: str = "passive"
    """OMP_WAIT_POLICY; empty leaves it unset."""
    busy: int = 0
    """Processes that keep a CPU busy."""

    @property
    def name(self) -> str:
        """The setting as a key of the figures."""
        return f"{self.runs} x {self.threads}, {self.policy or 'default'}, {self.busy} busy"

    def fair_share(self, cpus: int) -> float:
        """Speed beside the busy processes, relative to that without them, if every thread had the
        same time."""
        threads = self.runs * self.threads
        return min(1, cpus / (threads + self.busy)) / min(1, cpus / threads)


class TimeUp(Exception):  # noqa: N818
    """The end of the seconds of a run."""


def cpu_settings(cpus: int) -> list[Setting]:
    """One run and as many as CPUs, on one thread and on all, with both policies."""
    shapes = sorted({(1, 1), (1, cpus), (cpus, 1), (cpus, cpus)})
    policies = {True: ("passive", ""), False: ("passive",)}  # with one thread, none waits
    return [
        Setting(runs, threads, policy, busy)
        for busy in (0, cpus)
        for runs, threads in shapes
        for policy in policies[threads > 1]
    ]


def set_barrier(barrier: Barrier) -> None:
    """Initialises a process of a run."""
    global _barrier
    _barrier = barrier


def rate(shape: Shape, threads: int, seconds: float) -> float:
    """Tokens per second of one run in this process, which waits for the others first."""
    torch.set_num_threads(threads)
    work = Workload(shape)
    steps = [work.step(number) for number in range(NUM_BATCHES)]
    if torch.cuda.is_available():
        steps = list(map(pinned, steps))
    module = PretrainingModule(work.learner(), work.spec, MAX_STEPS, seed=0)
    feed = Feed(lambda number: steps[number % NUM_BATCHES], MAX_STEPS)
    clock: list[tuple[int, float]] = []

    def progress(done: int, total: int, **figures: float) -> None:
        if done < WARMUP:
            return
        if not clock and _barrier:
            _barrier.wait()
        if clock and perf_counter() - clock[0][1] < seconds:
            return
        if torch.cuda.is_available():  # more often would keep the GPU waiting
            torch.cuda.synchronize()
        clock.append((done, perf_counter()))
        if len(clock) > 1:
            raise TimeUp

    compute = Compute(precision="bf16-mixed")
    with tempfile.TemporaryDirectory() as folder, suppress(TimeUp):
        fit(module, feed, Path(folder) / "last.ckpt", compute, progress)
    (first, begin), (last, end) = clock
    return (last - first) * work.tokens_per_step / (end - begin)


def keep_busy() -> None:
    """Uses a CPU until the process is ended."""
    while True:
        pass


@contextmanager
def busy_processes(number: int) -> Iterator[None]:
    """Keeps so many CPUs busy in the block."""
    processes = [get_context("spawn").Process(target=keep_busy, daemon=True) for _ in range(number)]
    for process in processes:
        process.start()
    try:
        yield
    finally:
        for process in processes:
            process.kill()


def total_rate(setting: Setting, shape: Shape, seconds: float) -> float:
    """Tokens per second of all runs of a setting."""
    context = get_context("spawn")
    pool = partial(
        ProcessPoolExecutor,
        setting.runs,
        mp_context=context,
        initializer=set_barrier,
        initargs=(context.Barrier(setting.runs),),
    )
    with (
        common.environment(OMP_WAIT_POLICY=setting.policy),
        pool() as processes,
        busy_processes(setting.busy),
    ):
        futures = [
            processes.submit(rate, shape, setting.threads, seconds) for _ in range(setting.runs)
        ]
        return sum(future.result() for future in futures)


def rows(figures: dict[str, Any]) -> Iterator[list[str]]:
    """A row for each setting."""
    rates, cpus = figures["tokens_per_second"], figures["machine"]["cpus"]
    for one in (Setting(**values) for values in figures["runs"]):
        alone = rates[Setting(one.runs, one.threads, one.policy).name]
        beside = [f"{rates[one.name] / alone:.2f}", f"{one.fair_share(cpus):.2f}"]
        columns = [f"{one.runs} x {one.threads}", one.policy or "default", str(one.busy)]
        yield [*columns, f"{rates[one.name]:,}", *(beside if one.busy else ["", ""])]


def page(figures: dict[str, Any]) -> str:
    """The figures as markdown."""
    chosen, on = figures["settings"], figures["machine"]
    setting = (
        f"Tokens per second of all runs together; BERT {chosen['size']}, {chosen['batch_size']} x "
        f"{chosen['sequence_length']}, bf16, runs x threads of each, median over repeats "
        f"({chosen['repeats']}) of {chosen['seconds']} s; {on['processor']}, {on['cpus']} "
        f"CPUs, {on['device']}, torch {on['torch']}."
    )
    head = ["runs x threads", "OMP_WAIT_POLICY", "busy processes", "tokens/s"]
    head += ["of the quiet machine", "fair share"]
    return common.markdown(__file__, "Concurrent runs", setting, head, rows(figures), 2)


def main() -> None:
    """Measures and writes the figures."""
    arguments = common.parse_arguments(
        __doc__,
        f"concurrent_runs{common.suffix()}",
        repeats=5,
        seconds=10,
        size="tiny",
        batch_size=16,
        sequence_length=128,
        vocab_size=8_192,
    )
    shape = Shape(
        size=arguments.size,
        batch_size=arguments.batch_size,
        sequence_length=arguments.sequence_length,
        vocab_size=arguments.vocab_size,
        steps=NUM_BATCHES,
    )
    cpus = num_cpus()
    on_gpu = [Setting(runs, max(1, cpus // runs)) for runs in GPU_RUNS]
    settings = on_gpu if has_gpu() else cpu_settings(cpus)
    measured = {one.name: partial(total_rate, one, shape, arguments.seconds) for one in settings}
    rates = common.measure_in_turns(measured, arguments.repeats)
    figures = {
        "settings": common.settings(arguments),
        "machine": {
            **common.machine("torch"),
            "cpus": cpus,
            "device": torch.cuda.get_device_name() if has_gpu() else "no GPU",
        },
        "runs": [vars(one) for one in settings],
        "tokens_per_second": {name: round(statistics.median(all_)) for name, all_ in rates.items()},
        "all_tokens_per_second": {name: list(map(round, all_)) for name, all_ in rates.items()},
    }
    common.save(figures, page(figures), arguments.out)


if __name__ == "__main__":
    main()
