"""A cluster of 64 nodes in virtual time, driven by the executor: makespan, and CPU of the executor.

    python benchmarks/simulated_cluster.py [--stages 5000] [--nodes 64] [--recorded 300]

The executor runs a real plan, `quickstart` with more seeds, on a backend that computes nothing: a
stage occupies one of its nodes for a duration drawn from those of its kind in the shipped report,
by a clock that only waiting advances. Nodes are lost at random and are back after ten minutes; only
pretraining goes on from where it was. The store is in memory; what the local store takes is
measured with `--recorded` stages. Passes (exit 0) if at 1 % of the nodes lost an hour, the makespan
is at least 90 % of the ideal and the executor takes at most 10 % of a core, recording included.
"""

import argparse
import csv
import os
import time
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from rich.console import Console

from benchmarks.common import machine, markdown, parse_arguments, save, settings
from benchmarks.virtual_cluster import SimulatedCluster, run_virtually
from harness.execution.executor import execute
from harness.execution.job import Workspace
from harness.execution.makespan import ideal_makespan
from harness.execution.progress import Display
from harness.plan.factory import load_plan
from harness.plan.plan import Plan, Stage
from harness.store.store import Store

ROOT = Path(__file__).parent.parent
DURATIONS = ROOT / "reports" / "quickstart" / "stages.csv"
LOSSES_PER_HOUR = (0.0, 0.01, 1.0)
"""Expected losses of each node."""
REQUIRED = 0.01
"""The losses at which the limits hold."""
MIN_OF_IDEAL, MAX_CPU_SHARE = 0.9, 0.1


def large_plan(stages: int, *overrides: str) -> Plan:
    """`quickstart` with as many pretraining seeds as give about so many stages."""

    def with_seeds(number: int) -> Plan:
        path = ROOT / "experiments" / "quickstart.yaml"
        return load_plan(path, [f"seeds.pretrain={number}", *overrides])

    few, more = (len(with_seeds(number).stages) for number in (1, 2))
    return with_seeds(max(1, 1 + round((stages - few) / (more - few))))


def drawn_seconds(stages: Mapping[str, Stage], seed: int = 0) -> dict[str, float]:
    """Key to a duration of its kind in the shipped report."""
    logged: dict[str, list[float]] = {}
    with DURATIONS.open() as file:
        for row in csv.DictReader(file):
            logged.setdefault(row["kind"], []).append(float(row["seconds"]))
    rng = np.random.default_rng(seed)
    return {key: float(rng.choice(logged[one.kind])) for key, one in stages.items()}


def simulate(plan: Plan, nodes: int, losses_per_hour: float) -> dict[str, float]:
    """Figures of one run."""
    seconds = drawn_seconds(plan.stages)
    bounds = ideal_makespan(plan.stages.values(), seconds, nodes)
    with TemporaryDirectory() as folder:
        backend = SimulatedCluster(Workspace(Path(folder)), seconds, nodes, losses_per_hour)
        start = time.process_time()
        done = run_virtually(plan, backend)
        cpu = time.process_time() - start
    found = {
        "losses_per_hour": losses_per_hour,
        "makespan": backend.now,
        **bounds,
        "of_ideal": max(bounds.values()) / backend.now,
        "utilisation": sum(seconds[key] for key in done.computed) / (nodes * backend.now),
        "cpu_per_stage": cpu / len(plan.stages),
        "cpu_share": cpu / backend.now,
        "lost": len(backend.lost),
        "repeated": len(backend.order) - len(set(backend.order)),
        "failed": len(done.failed),
    }
    print(found, flush=True)
    return {name: float(f"{value:.5g}") for name, value in found.items()}


def record(stages: int, *overrides: str) -> dict[str, float]:
    """CPU and other seconds of the executor per stage with the local store, one stage after the
    other, and nothing to compute."""
    plan = large_plan(stages, "sweep=null", *overrides)
    seconds = dict.fromkeys(plan.stages, 1e-9)
    with TemporaryDirectory() as folder:
        store = Store(Path(folder))
        workspace = Workspace(store.root)
        for key in plan.stages:
            workspace.output(key).mkdir(parents=True)
            (workspace.output(key) / "file").write_text(key)
        begin = time.perf_counter(), time.process_time()
        with Display(plan, Console(quiet=True)) as display:
            done = execute(plan, store, SimulatedCluster(workspace, seconds, 1), display)
        took, cpu = time.perf_counter() - begin[0], time.process_time() - begin[1]
        assert len(done.computed) == len(plan.stages), (done.failed, done.problems)
    number = len(plan.stages)
    return {"stages": number, "seconds": round(took / number, 4), "cpu": round(cpu / number, 4)}


def page(figures: Mapping[str, Any]) -> str:
    """The figures as a page."""
    on, chosen, recorded = figures["machine"], figures["settings"], figures["recorded"]
    bounds = figures["runs"][0]
    shown, rate = figures["recorded_and_shown"], 100 * figures["stages"] / bounds["makespan"]
    setting = (
        f"`quickstart` with more seeds, {figures['stages']:,} stages, on {chosen['nodes']} "
        "simulated nodes with one stage each; durations drawn from those of the shipped report. No "
        f"order takes less than all work spread over the nodes, {bounds['work']:,.0f} s, or the "
        f"longest chain of stages, {bounds['critical_path']:,.0f} s: the larger is the ideal. CPU "
        f"is that of the executor, on a shared {on['processor']} with {on['cores']} cores, load "
        f"average {on['load']} at the start."
    )
    rows = [
        [
            f"{100 * one['losses_per_hour']:.0f} %",
            f"{one['makespan']:,.0f} s",
            f"{100 * one['of_ideal']:.1f} %",
            f"{100 * one['utilisation']:.1f} %",
            f"{1000 * one['cpu_per_stage']:.1f} ms",
            f"{100 * one['cpu_share']:.1f} %",
            f"{one['lost']:.0f}",
            f"{one['repeated']:.0f}",
            f"{one['failed']:.0f}",
        ]
        for one in figures["runs"]
    ]
    head = ["nodes lost an hour", "makespan", "ideal / makespan", "nodes in use", "CPU a stage"]
    head += ["of one core", "stages lost", "run again", "failed"]
    remark = (
        f"Required at 1 %: {100 * MIN_OF_IDEAL:.0f} % of the ideal, at most "
        f"{100 * MAX_CPU_SHARE:.0f} % of a core. A stage fails if it is lost a second time without "
        "having come further; only pretraining has checkpoints. With the local store, "
        f"{recorded['stages']} stages with nothing to compute took "
        f"{1000 * recorded['seconds']:.0f} ms each, {1000 * recorded['cpu']:.0f} ms of CPU, which "
        f"is {rate * recorded['cpu']:.1f} % of a core at the rate of the run without losses; with "
        "the study's pages in MLflow, which a thread keeps up to date (`compute.loggers`), "
        f"{1000 * shown['cpu']:.0f} ms of CPU, {rate * shown['cpu']:.1f} %."
    )
    return markdown(__file__, "Simulated cluster", setting, head, rows, remark=remark)


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """Figures of all runs."""
    load = {"cores": os.cpu_count(), "load": round(os.getloadavg()[0], 1)}
    plan = large_plan(arguments.stages)
    return {
        "settings": settings(arguments),
        "machine": {**machine("mlflow"), **load},
        "stages": len(plan.stages),
        "runs": [simulate(plan, arguments.nodes, rate) for rate in LOSSES_PER_HOUR],
        "recorded": record(arguments.recorded, "compute.loggers=[]"),
        "recorded_and_shown": record(arguments.recorded),
    }


def main() -> int:
    """Measures, and writes figures and page; returns 1 if a limit is exceeded."""
    options = {"stages": 5000, "nodes": 64, "recorded": 300}
    arguments = parse_arguments(__doc__, "simulated_cluster", **options)
    figures = measure(arguments)
    save(figures, page(figures), arguments.out)
    (one,) = (one for one in figures["runs"] if one["losses_per_hour"] == REQUIRED)
    cpu_share = figures["recorded"]["cpu"] * figures["stages"] / one["makespan"]
    return int(one["of_ideal"] < MIN_OF_IDEAL or cpu_share > MAX_CPU_SHARE)


if __name__ == "__main__":
    raise SystemExit(main())
