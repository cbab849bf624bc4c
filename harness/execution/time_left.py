"""The time that stages take, estimated from those that have ended: in the same run, or before on
this machine."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import LinearRegression, fmean, linear_regression
from typing import Self

from harness.execution.provenance import machine
from harness.plan.plan import Stage
from harness.store.store import StageResult

MIN_SHARE = 0.05
"""Share of a running stage from which its duration is extrapolated."""
RECENT = 5
"""Equal stages whose mean is taken: on a shared machine, older ones ran under another load."""
MIN_RANGE = 2.0
"""Largest to smallest FLOPs of stages from which a fixed part of their durations is estimated."""
ALIKE: Mapping[str, str] = {
    "continue_pretraining": "pretrain",
    "train_tasks": "finetune",
    "trial": "finetune",
    "tune": "finetune",
}
"""Kind of stage to the kind whose work it does, by the FLOP."""
STAGE_SECONDS, PLANNED_FLOPS = "stage_seconds", "planned_flops"
"""Metrics of a stored stage: seconds of all its parts, and the FLOPs that were planned for it."""
RECORDING_SECONDS = 0.3
"""Seconds in which a stage of an earlier run was recorded, which its metrics cannot include."""


def duration(seconds: float) -> str:
    """A duration as text: `75 s`, `12 min`, `3.4 h`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 90 * 60 else f"{seconds / 3600:.1f} h"


@dataclass(frozen=True)
class Running:
    """A running stage, so far."""

    stage: Stage
    elapsed: float
    """Seconds since its first progress report, or since its start before that."""
    share: float = 0.0
    """Share of its updates that are done."""
    first_share: float = 0.0
    """The same in its first report: a resumed stage does not begin at 0."""

    @property
    def seconds(self) -> float | None:
        """Duration of all its updates at the rate so far; null too early."""
        done = self.share - self.first_share
        return self.elapsed / done if done >= MIN_SHARE else None


@dataclass
class Durations:
    """Seconds of ended stages by kind and FLOPs: stages equal in both do the same work."""

    ended: dict[tuple[str, float], list[float]] = field(default_factory=lambda: defaultdict(list))
    earlier: "Durations | None" = None
    """What is known of kinds of which no stage has ended here."""

    def add(self, kind: str, flops: float, seconds: float) -> None:
        """Records an ended stage."""
        self.ended[kind, flops].append(seconds)

    def knows(self, kind: str) -> bool:
        """Whether a stage of this kind that computes something has ended."""
        return any(flops for known, flops in self.ended if known == kind)

    def of(self, stage: Stage) -> float | None:
        """Expected seconds: the mean of the last equal stages, else by the FLOPs of the stages of
        its kind, of kinds alike, or of earlier runs, in this order; null if none has ended. A stage
        without FLOPs that was never seen counts as instant."""
        if equal := self.ended.get((stage.kind, stage.flops)):
            return fmean(equal[-RECENT:])
        if stage.flops:
            alike = ALIKE.get(stage.kind, stage.kind)
            for rows in (self._rows(stage.kind), self._rows(alike), self._rows_alike(alike)):
                if rows:
                    return _at(stage.flops, rows)
        if self.earlier:
            return self.earlier.of(stage)
        return None if stage.flops else 0.0

    def _rows(self, *kinds: str) -> list[tuple[float, float]]:
        """FLOPs and seconds of each ended stage of some kinds that computes something."""
        return [
            (flops, one)
            for (kind, flops), seconds in self.ended.items()
            if kind in kinds and flops
            for one in seconds
        ]

    def _rows_alike(self, kind: str) -> list[tuple[float, float]]:
        return self._rows(*(other for other, like in ALIKE.items() if like == kind))

    def with_running(self, running: Iterable[Running]) -> Self:
        """A copy with the extrapolated durations of running stages unlike all that have ended."""
        known = defaultdict(list, {key: list(seconds) for key, seconds in self.ended.items()})
        copy = type(self)(known, self.earlier)
        for one in running:
            if one.seconds is not None and (one.stage.kind, one.stage.flops) not in self.ended:
                copy.add(one.stage.kind, one.stage.flops, one.seconds)
        return copy


def _at(flops: float, rows: Sequence[tuple[float, float]]) -> float:
    """Seconds of a stage by (FLOPs, seconds) of others: a fixed part and a rate by least squares,
    or in proportion if their FLOPs are alike, or if one of the two would be negative."""
    work, seconds = zip(*rows, strict=True)
    if max(work) >= MIN_RANGE * min(work):
        line: LinearRegression = linear_regression(work, seconds)
        if line.slope > 0 and line.intercept >= 0:
            return line.intercept + line.slope * flops
    return flops * sum(seconds) / sum(work)


def learned_durations(finished: Iterable[StageResult]) -> Durations:
    """Durations of the stored stages that were computed on a machine like this one, each kind on
    the device that it used last.

    Args:
        finished: stages in the order of their computation.
    """
    here = [one for one in finished if one.made_with.startswith(machine())]
    last = {one.kind: _device(one) for one in here}
    found = Durations()
    for one in here:
        seconds, flops = one.metrics.get(STAGE_SECONDS), one.metrics.get(PLANNED_FLOPS)
        if seconds is not None and flops is not None and _device(one) == last[one.kind]:
            found.add(one.kind, flops, seconds + RECORDING_SECONDS)
    return found


def used_gpu(finished: Iterable[StageResult]) -> bool:
    """Whether a stage was computed on a GPU of a machine like this one."""
    return any(_device(one).startswith(f"{machine()}, ") for one in finished)


def _device(stage: StageResult) -> str:
    """Machine and GPU of a stage (`made_with`)."""
    return stage.made_with.partition(", python ")[0]


def seconds_left(
    ended: Durations, running: Iterable[Running], waiting: Iterable[Stage], capacity: int
) -> float | None:
    """Seconds to the end of a run; null as long as the duration of any stage is unknown.

    Stages take turns, so that the run takes as long as all of them divided by `capacity`, or as
    its longest chain of stages that build on each other.

    Args:
        ended: stages that have ended, in this run or before.
        waiting: parents before children.
        capacity: stages that run at a time.
    """
    running = list(running)
    known = ended.with_running(running)
    total, ends = 0.0, {"": 0.0}
    for one in running:
        whole = known.of(one.stage) if one.seconds is None else one.seconds
        if whole is None:
            return None
        left = whole * (1 - one.share) if one.share else max(0.0, whole - one.elapsed)
        total, ends[one.stage.key] = total + left, left
    for stage in waiting:
        seconds = known.of(stage)
        if seconds is None:
            return None
        begin = max((ends.get(parent, 0.0) for parent in stage.parents.values()), default=0.0)
        total, ends[stage.key] = total + seconds, begin + seconds
    return max(total / capacity, *ends.values())
