"""Where the time of a pretraining run goes, measured on a short part of it."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import torch
from torch.autograd import DeviceType
from torch.profiler import profile

from harness.pretraining.distributed import uses_gpus
from harness.pretraining.module import PretrainingModule
from harness.pretraining.profilers import PartDurations, PartLabels, synchronise
from harness.pretraining.run import flops_per_token, save_results
from harness.pretraining.short_run import WARMUP, Course, Hook, ShortRun
from harness.pretraining.validation import validate

TRACED = 5
"""Updates whose operators are recorded."""


@dataclass(frozen=True)
class Operator:
    """An operator of torch."""

    name: str
    calls: float
    """Per update."""
    seconds: float
    """Per update, on the GPU if there is one; without the operators that it calls."""
    share: float
    """Of the time of all operators."""


@dataclass(frozen=True)
class Measured:
    """What the updates of a run took, and what it does once."""

    updates: int
    seconds: Mapping[str, float]
    """Part to seconds of an update, on a GPU with a wait for it around each part. `framework` is
    what no other part is: Lightning's loop, callbacks, the learning curve."""
    tokens_per_second: float
    """Without these waits."""
    flops_per_token: float
    device: torch.device
    start: float
    """Seconds until the end of the first update, beyond those of a later one."""
    evaluation: float
    """Seconds of the held-out loss."""
    checkpoint: float
    """Seconds of saving one checkpoint to resume from."""
    saving: float
    """Seconds of writing the network and the curve."""


def measure(run: ShortRun, updates: int, progress: Hook) -> Measured:
    """Trains for `updates` after a warmup, evaluates and saves; on a GPU, trains again without
    waiting for it.

    Raises:
        ValueError: memory runs out, or the text is too small for a batch.
    """
    parts = PartDurations()

    def forget_warmup(done: int, total: int) -> None:
        if done == WARMUP:
            parts.recorded_durations.clear()
        progress(done, total)

    course = run.train(updates, forget_warmup, parts)
    seconds = {part: whole / updates for part, whole in parts.seconds.items()}
    free = run.train(updates, progress) if uses_gpus(run.compute) else course
    return Measured(
        updates,
        {**seconds, "framework": course.seconds - sum(seconds.values())},
        free.tokens_per_second,
        flops_per_token(course.module, run.vocabulary.size),
        course.trainer.strategy.root_device,
        start=max(0.0, course.ends[1][0] - course.begin - course.seconds),
        checkpoint=_seconds(course.trainer.save_checkpoint, run.work / "resume.ckpt"),
        evaluation=_seconds(_evaluate, run, course),
        saving=_seconds(_save, run, course.module),
    )


def operators(run: ShortRun, progress: Hook, trace: Path | None = None) -> list[Operator]:
    """The operators of some updates after a warmup, the most expensive first.

    Args:
        trace: JSON file for Perfetto or Chrome, in which the parts have labels.

    Raises:
        ValueError: memory runs out.
    """
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # else it reports its start and stop
    recorded = profile()

    def record(done: int, total: int) -> None:
        if done == WARMUP:
            recorded.start()
        if done == total:
            recorded.stop()
        progress(done, total)

    run.train(TRACED, record, PartLabels())
    if trace:
        recorded.export_chrome_trace(str(trace))
    return _operators(recorded, uses_gpus(run.compute))


def _evaluate(run: ShortRun, course: Course) -> None:
    validate(course.trainer, course.module, run.inputs["tokens"] / "validation", run.vocabulary)


def _save(run: ShortRun, module: PretrainingModule) -> None:
    out = run.work / "out"
    out.mkdir(parents=True)
    save_results(module, run.work / "state", out)


def _seconds(action: Callable[..., Any], *arguments: Any) -> float:
    begin = perf_counter()
    action(*arguments)
    synchronise()
    return perf_counter() - begin


def _operators(recorded: profile, on_gpu: bool) -> list[Operator]:
    """The operators of a profile, by their time."""
    events = [
        one
        for one in recorded.key_averages()
        if one.device_type == DeviceType.CPU and not one.is_user_annotation
    ]
    clock = "self_device_time_total" if on_gpu else "self_cpu_time_total"
    micros = {one.key: float(getattr(one, clock)) for one in events}
    total = sum(micros.values())
    return [
        Operator(
            one.key, one.count / TRACED, micros[one.key] / 1e6 / TRACED, micros[one.key] / total
        )
        for one in sorted(events, key=lambda one: -micros[one.key])
    ]
