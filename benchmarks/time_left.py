"""The time left that runs show at moments of their duration, next to what they then took.

python benchmarks/time_left.py [--experiments smoke,benchmarks/sweep.yaml] [--jobs 2] [--loops 2]
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rich.console import Console

from benchmarks.common import machine, markdown, parse_arguments, save, settings
from harness.execution.backends import BACKENDS
from harness.execution.executor import execute
from harness.execution.job import Workspace
from harness.execution.progress import Display
from harness.execution.time_left import Durations, learned_durations
from harness.plan.factory import load_plan
from harness.plan.plan import Plan
from harness.store.store import Store

EXPERIMENTS = "smoke,benchmarks/sweep.yaml"
MOMENTS = (10, 25, 50, 75, 90)
"""Percent of the duration."""
BUSY = "while True: pass"


class RecordingDisplay(Display):
    """A display that keeps every estimate."""

    def __init__(self, plan: Plan, console: Console, earlier: Durations | None) -> None:
        super().__init__(plan, console, earlier)
        self.estimates: list[tuple[float, float | None]] = []
        """(seconds since the start, seconds left as estimated)."""

    def tick(self, running: Mapping[str, dict[str, Any]]) -> None:
        """Also records the estimate."""
        super().tick(running)
        self.estimates.append((time.monotonic() - self.begun, self.left))


@contextmanager
def busy_loops(number: int) -> Iterator[None]:
    """Processes that compute without end beside the block."""
    loops = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(number)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()


def run(
    plan: Plan, jobs: int, loops: int, earlier: Durations | None = None, store_of: str = "empty"
) -> tuple[Any, Durations]:
    """The estimates of one run into an empty store, and the durations of its stages.

    Args:
        loops: busy processes beside it.
        earlier: durations as if the store had them.
        store_of: where they are from.
    """
    with TemporaryDirectory() as folder, busy_loops(loops):
        store = Store(Path(folder))
        backend = BACKENDS["processes"](Workspace(store.root), jobs)
        display = RecordingDisplay(plan, Console(), earlier)
        with display:
            done = execute(plan, store, backend, display)
        took = time.monotonic() - display.begun
        assert not done.failed, done.failed
        figures = {
            "experiment": plan.experiment.name,
            "stages": len(plan.stages),
            "loops": loops,
            "store": store_of,
            "load": round(os.getloadavg()[0], 1),
            "seconds": round(took, 1),
            "first": round(display.first.seconds, 1) if display.first else None,
            "moments": [_at(share * took / 100, took, display.estimates) for share in MOMENTS],
        }
        return figures, learned_durations(store.finished().values(), display.durations.times)


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """The estimates of runs on the machine as it is and beside busy loops: with an empty store,
    with the durations of a run under the same load, and with those of one under the other."""
    jobs, loops, runs = arguments.jobs, arguments.loops, []
    for experiment in arguments.experiments.split(","):
        plan = load_plan(Path(experiment))
        own = {load: run(plan, jobs, load) for load in (0, loops)}
        for load, other in ((0, loops), (loops, 0)):
            same, _ = run(plan, jobs, load, own[load][1], "same load")
            changed, _ = run(plan, jobs, load, own[other][1], "other load")
            runs += [own[load][0], same, changed]
    return {"settings": settings(arguments), "machine": machine("torch"), "runs": runs}


def _at(
    moment: float, took: float, estimates: list[tuple[float, float | None]]
) -> dict[str, float | None]:
    """The last estimate before a moment, in seconds, and what was left then."""
    passed, left = max(one for one in estimates if one[0] <= moment)
    return {"left": round(took - passed, 1), "estimated": left and round(left, 1)}


def page(figures: Mapping[str, Any]) -> str:
    """The figures as a page."""
    rows = [
        [
            f"{one['experiment']}, {one['stages']} stages",
            f"{one['loops']} busy loops" if one["loops"] else "nothing",
            one["store"],
            f"{one['load']:.1f}",
            f"{one['seconds']:.0f} s",
            f"{one['first']:.0f} s" if one["first"] else "-",
            *map(_error, one["moments"]),
        ]
        for one in figures["runs"]
    ]
    chosen, on = figures["settings"], figures["machine"]
    setting = (
        f"{chosen['jobs']} stages at a time, on a shared {on['processor']}. Errors of the time "
        "left, in percent of what was left, after shares of the duration, with an empty store and "
        "with the durations of an earlier run under the same or the other load."
    )
    head = ["experiment", "beside it", "store", "load", "took", "estimated before"]
    head += [f"after {share} %" for share in MOMENTS]
    remark = "No estimate is shown before a stage of each remaining kind has run."
    return markdown(__file__, "Time left", setting, head, rows, num_text_columns=3, remark=remark)


def _error(one: Mapping[str, float | None]) -> str:
    left, estimated = one["left"], one["estimated"]
    return "-" if estimated is None or not left else f"{100 * (estimated / left - 1):+.0f} %"


def main() -> None:
    """Measures, and writes figures and page."""
    arguments = parse_arguments(__doc__, "time_left", experiments=EXPERIMENTS, jobs=2, loops=2)
    figures = measure(arguments)
    save(figures, page(figures), arguments.out)


if __name__ == "__main__":
    main()
