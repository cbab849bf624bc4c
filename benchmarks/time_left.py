"""The time left that a run shows at each tenth of its duration, next to what it then took.

python benchmarks/time_left.py [--experiment smoke] [--jobs 2]
"""

import argparse
import os
import time
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rich.console import Console

from benchmarks.common import machine, markdown, parse_arguments, save, settings
from harness.execution.backends import BACKENDS
from harness.execution.executor import execute
from harness.execution.job import Workspace
from harness.execution.progress import Display
from harness.plan.factory import load_plan
from harness.plan.plan import Plan
from harness.store.store import Store

TENTHS = range(1, 10)


class RecordingDisplay(Display):
    """A display that keeps every estimate."""

    def __init__(self, plan: Plan, console: Console) -> None:
        super().__init__(plan, console)
        self.estimates: list[tuple[float, float | None]] = []
        """(seconds since the start, seconds left as estimated)."""

    def tick(self, running: Mapping[str, dict[str, Any]]) -> None:
        """Also records the estimate."""
        super().tick(running)
        self.estimates.append((time.monotonic() - self.begun, self.left))


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """The estimates of one run into an empty store."""
    plan = load_plan(Path(arguments.experiment))
    with TemporaryDirectory() as folder:
        store = Store(Path(folder))
        backend = BACKENDS["processes"](Workspace(store.root), arguments.jobs)
        display = RecordingDisplay(plan, Console())
        with display:
            done = execute(plan, store, backend, display)
        took = time.monotonic() - display.begun
    assert not done.failed, done.failed
    return {
        "settings": settings(arguments),
        "machine": {**machine("torch"), "load": round(os.getloadavg()[1], 1)},
        "stages": len(plan.stages),
        "seconds": round(took, 1),
        "tenths": [_at(tenth * took / 10, took, display.estimates) for tenth in TENTHS],
    }


def _at(
    moment: float, took: float, estimates: list[tuple[float, float | None]]
) -> dict[str, float | None]:
    """The last estimate before a moment, in seconds, and what was left then."""
    passed, left = max(one for one in estimates if one[0] <= moment)
    return {"left": round(took - passed, 1), "estimated": left and round(left, 1)}


def page(figures: Mapping[str, Any]) -> str:
    """The figures as a page."""
    rows = [
        [f"{10 * tenth} %", f"{one['left']:.0f} s", *_estimate(one)]
        for tenth, one in zip(TENTHS, figures["tenths"], strict=True)
    ]
    chosen, on = figures["settings"], figures["machine"]
    setting = (
        f"`{chosen['experiment']}` in an empty store: {figures['stages']} stages, "
        f"{chosen['jobs']} at a time, {figures['seconds']:.0f} s on a shared {on['processor']} "
        f"(load average {on['load']} over five minutes at the end)."
    )
    head = ["of the duration", "left", "estimated", "error"]
    remark = "No estimate is shown before a stage of each remaining kind has run."
    return markdown(__file__, "Time left", setting, head, rows, remark=remark)


def _estimate(one: Mapping[str, float | None]) -> list[str]:
    left, estimated = one["left"], one["estimated"]
    if estimated is None or not left:
        return ["-", "-"]
    return [f"{estimated:.0f} s", f"{100 * (estimated / left - 1):+.0f} %"]


def main() -> None:
    """Measures, and writes figures and page."""
    arguments = parse_arguments(__doc__, "time_left", experiment="smoke", jobs=2)
    figures = measure(arguments)
    save(figures, page(figures), arguments.out)


if __name__ == "__main__":
    main()
