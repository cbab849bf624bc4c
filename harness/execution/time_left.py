"""The time that stages take, estimated from those that have ended: in the same run, or before on
this machine."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from statistics import LinearRegression, linear_regression, median

from harness.execution.makespan import makespan
from harness.execution.provenance import machine
from harness.execution.run_times import RunTimes
from harness.plan.costs import SUSTAINED_FLOPS
from harness.plan.plan import Stage
from harness.store.store import StageResult

MIN_SHARE = 0.05
"""Share of a running stage from which its duration is extrapolated."""
RECENT = 5
"""Equal stages whose median is taken: the first of a worker imports more, and on a shared machine,
older ones ran under another load."""
MIN_RANGE = 2.0
"""Largest to smallest FLOPs of stages from which a fixed part of their durations is estimated."""
SLOWEST_FLOPS = SUSTAINED_FLOPS / 5
"""Least FLOP/s that are assumed for the work beyond MAX_SCALE times that of ended stages: most of
the time of stages at toy size does not depend on their FLOPs, so their rates are far too low."""
MAX_SCALE = 10.0
ALIKE: Mapping[str, str] = {
    "pretrain_trial": "pretrain",
    "continue_pretraining": "pretrain",
    "train_tasks": "finetune",
    "trial": "finetune",
    "tune": "finetune",
}
"""Kind of stage to the kind whose work it does, by the FLOP."""
STAGE_SECONDS, PLANNED_FLOPS = "stage_seconds", "planned_flops"
"""Metrics of a stored stage: seconds of its last attempt, and the FLOPs planned for it."""
RESUMED_AT = "resumed_at"
"""Metric of a resumed stage: share of its updates that were done before the last attempt."""
PRIOR_SECONDS = 10.0
"""Seconds of this run that count as much as the pace of earlier runs."""


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
    in_new_worker: bool = False
    """Whether its worker was started for it."""

    @property
    def seconds(self) -> float | None:
        """Duration of all its updates at the rate so far; null too early."""
        done = self.share - self.first_share
        return self.elapsed / done if done >= MIN_SHARE else None

    def left(self, known: "Durations") -> float | None:
        """Seconds that it still takes; null if unknown."""
        whole = known.of(self.stage) if self.seconds is None else self.seconds
        if whole is None:
            return None
        if self.share:
            return whole * (1 - self.share)
        if self.in_new_worker:  # as far as is known, it has not begun
            return whole + max(0.0, known.times.startup - self.elapsed)
        return max(0.0, whole - self.elapsed)


@dataclass
class Durations:
    """Seconds of ended stages by kind and FLOPs: stages equal in both do the same work, if they
    have FLOPs."""

    ended: dict[tuple[str, float], list[float]] = field(default_factory=lambda: defaultdict(list))
    earlier: "Durations | None" = None
    """What is known of stages unlike those that have ended here."""
    before: RunTimes = field(default_factory=RunTimes)
    """What the run before took beside its stages."""
    startups: list[float] = field(default_factory=list)
    """Seconds in which each worker started."""
    gaps: list[float] = field(default_factory=list)
    """Seconds that each stage took its worker beyond its own."""
    closings: list[float] = field(default_factory=list)
    """Seconds from the last stage to the end, once the run has ended."""

    def add(self, kind: str, flops: float, seconds: float) -> None:
        """Records an ended stage."""
        self.ended[kind, flops].append(seconds)

    def knows(self, kind: str) -> bool:
        """Whether a stage of this kind that computes something has ended."""
        here = any(flops for known, flops in self.ended if known == kind)
        return here or (self.earlier is not None and self.earlier.knows(kind))

    @property
    def times(self) -> RunTimes:
        """What this run takes beside its stages: medians of its own, else as the run before."""
        measured = {"startup": self.startups, "overhead": self.gaps, "closing": self.closings}
        found = {name: median(seconds) for name, seconds in measured.items() if seconds}
        return self.before.model_copy(update=found)

    @property
    def pace(self) -> float:
        """How many times as long as in earlier runs equal stages take in this one: the machine may
        be under another load. The time of stages without FLOPs is that of their text, which another
        experiment may have more of."""
        here = before = PRIOR_SECONDS
        for (kind, flops), seconds in self.ended.items():
            if flops and self.earlier and (kind, flops) in self.earlier.ended:
                known = self.earlier.seconds(kind, flops) or 0.0
                here, before = here + sum(seconds), before + known * len(seconds)
        return here / before

    def of(self, stage: Stage) -> float | None:
        """Expected seconds of a stage; see `seconds`."""
        return self.seconds(stage.kind, stage.flops)

    def seconds(self, kind: str, flops: float) -> float | None:
        """Expected seconds: the median of the last equal stages of this run, or of earlier ones
        at the pace of this run; else by the FLOPs of the stages of its kind, of kinds alike, or of
        earlier runs, in this order; null if none has ended. A stage without FLOPs that was never
        seen counts as instant."""
        if equal := self.ended.get((kind, flops)):
            return median(equal[-RECENT:])
        before = self.earlier.seconds(kind, flops) if self.earlier else None
        seen = self.earlier is not None and (kind, flops) in self.earlier.ended
        if flops and not seen:
            alike = ALIKE.get(kind, kind)
            for rows in (self._rows(kind), self._rows(alike), self._rows_alike(alike)):
                if rows:
                    return _at(flops, rows)
        if before is not None:
            return self.pace * before
        return None if flops else 0.0

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

    def with_running(self, running: Iterable[Running]) -> "Durations":
        """A copy with the extrapolated durations of running stages unlike all that have ended."""
        known = defaultdict(list, {key: list(seconds) for key, seconds in self.ended.items()})
        copy = replace(self, ended=known)
        for one in running:
            if one.seconds is not None and (one.stage.kind, one.stage.flops) not in self.ended:
                copy.add(one.stage.kind, one.stage.flops, one.seconds)
        return copy


def _at(flops: float, rows: Sequence[tuple[float, float]]) -> float:
    """Seconds of a stage by (FLOPs, seconds) of others: a fixed part and a rate by least squares;
    if their FLOPs are alike, or one of the two would be negative, in proportion, with
    SLOWEST_FLOPS or more beyond MAX_SCALE times the largest of them."""
    work, seconds = zip(*rows, strict=True)
    if max(work) >= MIN_RANGE * min(work):
        line: LinearRegression = linear_regression(work, seconds)
        if line.slope > 0 and line.intercept >= 0:
            return line.intercept + line.slope * flops
    rate, beyond = sum(seconds) / sum(work), max(0.0, flops - MAX_SCALE * max(work))
    return (flops - beyond) * rate + beyond * min(rate, 1 / SLOWEST_FLOPS)


def learned_durations(finished: Iterable[StageResult], before: RunTimes | None = None) -> Durations:
    """Durations of the stored stages that were computed on a machine like this one, each kind on
    the device that it used last.

    Args:
        finished: stages in the order of their computation.
        before: what the last run took beside its stages; null: as assumed.
    """
    here = [one for one in finished if one.made_with.startswith(machine())]
    last = {one.kind: _device(one) for one in here}
    found = Durations(before=before or RunTimes())
    for one in here:
        flops = one.metrics.get(PLANNED_FLOPS)
        if STAGE_SECONDS in one.metrics and flops is not None and _device(one) == last[one.kind]:
            found.add(one.kind, flops, whole_seconds(one.metrics))
    return found


def whole_seconds(metrics: Mapping[str, float | None]) -> float:
    """Seconds of a stage with what was done before it was resumed, at the rate of its last attempt;
    0 if unknown."""
    return (metrics.get(STAGE_SECONDS) or 0.0) / (1 - (metrics.get(RESUMED_AT) or 0.0))


def used_gpu(finished: Iterable[StageResult]) -> bool:
    """Whether a stage was computed on a GPU of a machine like this one."""
    return any(_device(one).startswith(f"{machine()}, ") for one in finished)


def _device(stage: StageResult) -> str:
    """Machine and GPU of a stage (`made_with`)."""
    return stage.made_with.partition(", python ")[0]


def seconds_left(
    ended: Durations,
    running: Iterable[Running],
    waiting: Sequence[Stage],
    capacity: int,
    workers: int = 0,
) -> float | None:
    """Seconds to the end of a run; null as long as the duration of any stage is unknown.

    Args:
        ended: stages that have ended, in this run or before.
        waiting: stages that have not begun.
        capacity: stages that run at a time.
        workers: those of `capacity` that were started so far.
    """
    running = list(running)
    known = ended.with_running(running)

    @cache
    def of(kind: str, flops: float) -> float | None:
        return known.seconds(kind, flops)

    seconds = {one.stage.key: one.left(known) for one in running}
    seconds |= {stage.key: of(stage.kind, stage.flops) for stage in waiting}
    times = known.times
    lasting = {key: one + times.overhead for key, one in seconds.items() if one is not None}
    if len(lasting) < len(seconds):
        return None
    if not lasting:
        return 0.0
    workers = min(capacity, max(workers, len(running)))
    idle = [0.0] * (workers - len(running)) + [times.startup] * (capacity - workers)
    return makespan([one.stage.key for one in running], waiting, lasting, idle) + times.closing
