"""Time of a study's pretraining stages beside each other on one GPU, against one after the other.

    python benchmarks/packed_stages.py [--experiment paradigms] [--flops 1e11] [--jobs 16,1]

All arms are pretrained with one seed for `flops` each by workers of `harness run`, as many at a
time as each of `jobs` says, with a thread and an equal part of the GPU each. Workers are started
and the text is tokenized before the clock starts. Arms in `without` have a budget of their own;
arms without a budget are left out, too. The figures are written after each of `jobs`.
"""

import argparse
import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import torch

from benchmarks.common import machine, markdown, parse_arguments, save, settings, suffix
from harness.core.compute import Compute, StageResources
from harness.execution.backends.backend import Backend
from harness.execution.backends.processes import STAGES, ProcessBackend
from harness.execution.job import StageJob, StageOutput, Workspace
from harness.plan.plan import Plan, Stage
from harness.store.artifacts import Artifact
from harness.study import Study

INPUTS = ("tokenizer", "tokenize", "corpus")
"""Kinds of stages before pretraining."""


def pretraining_stages(plan: Plan, without: Sequence[str]) -> list[Stage]:
    """The pretraining stages with a budget, teachers included, parents first."""
    return [
        stage
        for stage in plan.stages.values()
        if stage.kind == "pretrain"
        and stage.flops
        and not any(stage.label.startswith(arm) for arm in without)
    ]


def make_jobs(stages: Sequence[Stage], workspace: Workspace, compute: Compute) -> list[StageJob]:
    """The jobs of stages, which read what others leave in the work folder."""
    return [
        StageJob(
            stage.kind,
            stage.key,
            stage.spec,
            {
                role: Artifact(workspace.output(parent).as_uri(), "")
                for role, parent in stage.parents.items()
            },
            compute,
            label=stage.label,
        )
        for stage in stages
    ]


def compute_all(
    backend: Backend, jobs: Sequence[StageJob], parents: Mapping[str, set[str]]
) -> dict[str, StageOutput]:
    """Key to the output of each stage; a stage starts when those that it reads have ended."""
    waiting, running = list(jobs), set[str]()
    ended: dict[str, StageOutput] = {}
    while waiting or running:
        for job in [one for one in waiting if not parents[one.key] - ended.keys()]:
            if len(running) < backend.capacity:
                waiting.remove(job)
                backend.submit(job)
                running.add(job.key)
        for outcome in backend.wait(0.05):
            if outcome.output is None:
                raise RuntimeError(f"{outcome.key} failed") from outcome.error
            running.remove(outcome.key)
            ended[outcome.key] = outcome.output
    return ended


def measure(plan: Plan, stages: Sequence[Stage], jobs: int) -> dict[str, Any]:
    """Wall seconds of all stages, `jobs` at a time, and their tokens."""
    with TemporaryDirectory() as folder:
        workspace = Workspace(Path(folder))
        share = StageResources(gpus=1 / jobs if jobs > 1 and torch.cuda.is_available() else None)
        compute = Compute(threads=1, loggers=(), resources=share)
        parents = {stage.key: set(stage.parents.values()) for stage in plan.stages.values()}
        before = [stage for stage in plan.stages.values() if stage.kind in INPUTS]
        backend = ProcessBackend(workspace, jobs)
        compute_all(backend, make_jobs(before, workspace, compute), parents)
        _start_workers(backend, compute)
        known = {stage.key for stage in before}
        own = {stage.key: parents[stage.key] - known for stage in stages}
        begin = perf_counter()
        outputs = compute_all(backend, make_jobs(stages, workspace, compute), own)
        wall = perf_counter() - begin
        backend.close()
    tokens = sum(float(output.metrics.get("tokens") or 0) for output in outputs.values())
    training = sum(float(output.metrics.get("seconds") or 0) for output in outputs.values())
    print(f"{jobs} at a time: {wall:.1f} s, of training {training:.1f} s", flush=True)
    return {
        "jobs": jobs,
        "wall_seconds": round(wall, 2),
        "training_seconds": round(training, 2),
        "tokens_per_second": round(tokens / wall),
    }


def _start_workers(backend: ProcessBackend, compute: Compute) -> None:
    """Starts all workers, and waits until they have imported what stages need."""
    backend.prepare(backend.capacity, compute)
    started: list[Future[Any]] = []
    for worker in backend._idle:
        started.append(worker.submit(import_module, STAGES))
        if torch.cuda.is_available():
            started.append(worker.submit(torch.cuda.synchronize))
    wait(started)  # a module cannot be sent back as a result


def run(arguments: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """The figures so far, after each number of jobs."""
    overrides = [
        "seeds.pretrain=1",
        "sweep.pretrain=null",
        *(f"pretrain.budget.{unit}=null" for unit in ("tokens", "steps", "seconds")),
        f"pretrain.budget.flops={arguments.flops}",
    ]
    with TemporaryDirectory() as folder:
        plan = Study.load(arguments.experiment, overrides, folder).plan
    without = [name for name in arguments.without.split(",") if name]
    stages = pretraining_stages(plan, without)
    device = torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu"
    figures: dict[str, Any] = {
        "settings": {**settings(arguments), "stages": len(stages)},
        "machine": {**machine("torch"), "cpu_count": os.cpu_count(), "device": device},
        "runs": [],
    }
    for jobs in arguments.jobs.split(","):
        figures["runs"].append(measure(plan, stages, int(jobs)))
        yield figures


def page(figures: Mapping[str, Any]) -> str:
    """The figures as a page."""
    chosen, on = figures["settings"], figures["machine"]
    setting = (
        f"{chosen['stages']} pretraining stages of `{chosen['experiment']}`, {chosen['flops']} "
        f"FLOPs each (teachers their own); {on['processor']}, {on['cpu_count']} CPUs, "
        f"{on['device']}, torch {on['torch']}. One measurement of each."
    )
    alone = next((one["wall_seconds"] for one in figures["runs"] if one["jobs"] == 1), None)
    rows = [
        [
            str(one["jobs"]),
            f"{one['wall_seconds']:.1f}",
            f"{one['tokens_per_second']:,}",
            f"{alone / one['wall_seconds']:.1f} x" if alone else "–",
        ]
        for one in figures["runs"]
    ]
    head = ("stages at a time", "seconds", "tokens/s", "speed")
    return markdown(__file__, "Stages packed on one device", setting, head, rows)


def main() -> None:
    """Measures and writes the figures."""
    arguments = parse_arguments(
        __doc__,
        f"packed_stages{suffix()}",
        experiment="paradigms",
        flops="1e11",
        jobs="16,1" if torch.cuda.is_available() else "2,1",
        without="skipgram,glove",
    )
    for figures in run(arguments):
        save(figures, page(figures), arguments.out)


if __name__ == "__main__":
    main()
