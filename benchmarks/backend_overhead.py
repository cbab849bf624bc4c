"""Seconds that each backend adds to a stage: from its submission to its outcome.

    python benchmarks/backend_overhead.py [--stages 500]

The stages have nothing to compute: their results lie in the work folder, so that a worker locks it
and reads a file. `serial` does so in this process and is the cost of the stage itself. Passes
(exit 0) if a stage through Ray takes at most LIMIT longer.
"""

import argparse
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.common import machine, markdown, parse_arguments, save, seconds, settings
from harness.core.compute import Compute
from harness.execution.backends import BACKENDS, make_backend
from harness.execution.backends.backend import Backend
from harness.execution.executor import POLL_SECONDS
from harness.execution.job import StageJob, Workspace

LIMIT = 0.1
"""Seconds a stage."""
SLURM = "slurm"
"""The backend that needs a cluster."""
COMPUTE = Compute(accelerator="cpu", threads=1)


def make_stages(workspace: Workspace, number: int) -> list[StageJob]:
    """Stages that were computed already, but not recorded."""
    keys = [f"stage-{index}" for index in range(number)]
    for key in keys:
        workspace.output(key).mkdir(parents=True)
        workspace.result(key).write_text(json.dumps({"metrics": {}, "made_with": ""}))
    return [StageJob("tokenizer", key, {}, {}, COMPUTE) for key in keys]


def compute(backend: Backend, jobs: Sequence[StageJob]) -> None:
    """Submits stages as the executor does, and waits for all."""
    waiting, running = list(jobs), 0
    while waiting or running:
        while waiting and running < backend.capacity:
            backend.submit(waiting.pop())
            running += 1
        outcomes = backend.wait(POLL_SECONDS)
        assert all(outcome.output for outcome in outcomes), outcomes
        running -= len(outcomes)


def measure(name: str, stages: int) -> dict[str, float]:
    """Seconds of the first stage, with the start of the backend, and of each further one; one stage
    at a time."""
    with TemporaryDirectory() as folder:
        workspace = Workspace(Path(folder))
        first, *others = make_stages(workspace, stages + 1)
        backend = make_backend(name, workspace, 1)
        start = seconds(lambda: compute(backend, [first]))
        rest = seconds(lambda: compute(backend, others))
        backend.close()
    print(f"{name}: {start:.1f} s, then {1000 * rest / stages:.2f} ms a stage", flush=True)
    return {"first": round(start, 2), "each": round(rest / stages, 5)}


def overhead(figures: Mapping[str, Any], name: str) -> float:
    """Seconds a stage beyond the stage itself."""
    found = figures["seconds"]
    return float(found[name]["each"] - found["serial"]["each"])


def page(figures: Mapping[str, Any]) -> str:
    """The figures as a page."""
    on, number = figures["machine"], figures["settings"]["stages"]
    setting = (
        f"{number:,} stages with nothing to compute, one at a time, on a shared {on['processor']} "
        f"with {on['cores']} cores, load average {on['load']} at the start; Ray {on['ray']}. The "
        "first stage includes the start of backend and worker, with the import of torch."
    )
    rows = [
        [
            f"`{name}`",
            f"{found['first']:.1f} s",
            f"{1000 * found['each']:.1f} ms",
            f"{1000 * overhead(figures, name):.1f} ms",
        ]
        for name, found in figures["seconds"].items()
    ]
    head = ("backend", "first stage", "each further stage", "beyond the stage itself")
    remark = f"Ray may add at most {1000 * LIMIT:.0f} ms."
    return markdown(__file__, "Overhead of backends", setting, head, rows, remark=remark)


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    """Figures of all backends."""
    load = {"cores": os.cpu_count(), "load": round(os.getloadavg()[0], 1)}
    return {
        "settings": settings(arguments),
        "machine": {**machine("ray", "torch"), **load},
        "seconds": {name: measure(name, arguments.stages) for name in BACKENDS if name != SLURM},
    }


def main() -> int:
    """Measures, and writes figures and page; returns 1 if Ray exceeds the limit."""
    arguments = parse_arguments(__doc__, "backend_overhead", stages=500)
    figures = run(arguments)
    save(figures, page(figures), arguments.out)
    return int(overhead(figures, "ray") > LIMIT)


if __name__ == "__main__":
    raise SystemExit(main())
