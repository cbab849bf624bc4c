"""The time left of a run, estimated from the durations of its own stages."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from statistics import fmean

from harness.plan.plan import Stage

MIN_SHARE = 0.05
"""Share of a running stage from which its duration is extrapolated."""


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

    def add(self, stage: Stage, seconds: float) -> None:
        """Records an ended stage."""
        self.ended[stage.kind, stage.flops].append(seconds)

    def knows(self, kind: str) -> bool:
        """Whether a stage of this kind that computes something has ended."""
        return any(flops for known, flops in self.ended if known == kind)

    def of(self, stage: Stage) -> float | None:
        """Expected seconds: the mean of equal stages, else in proportion to the FLOPs of its kind;
        null if none has ended. A stage without FLOPs that was never seen counts as instant."""
        if equal := self.ended.get((stage.kind, stage.flops)):
            return fmean(equal)
        if not stage.flops:
            return 0.0
        rows = [(flops, s) for (kind, flops), s in self.ended.items() if kind == stage.kind]
        work = sum(flops * len(seconds) for flops, seconds in rows)
        if not work:
            return None
        return stage.flops * sum(sum(seconds) for flops, seconds in rows if flops) / work


def seconds_left(
    ended: Durations, running: Iterable[Running], waiting: Iterable[Stage], capacity: int
) -> float | None:
    """Seconds to the end of a run; null as long as the duration of any stage is unknown.

    Args:
        ended: stages that have ended, in this run or before.
        capacity: stages that run at a time.
    """
    running = list(running)
    known = Durations(defaultdict(list, {key: list(s) for key, s in ended.ended.items()}))
    for one in running:
        if one.seconds is not None and (one.stage.kind, one.stage.flops) not in ended.ended:
            known.add(one.stage, one.seconds)
    rest = []
    for one in running:
        whole = known.of(one.stage) if one.seconds is None else one.seconds
        if whole is None:
            return None
        rest.append(whole * (1 - one.share) if one.share else max(0.0, whole - one.elapsed))
    later = [known.of(stage) for stage in waiting]
    if any(seconds is None for seconds in later):
        return None
    total = sum(rest) + sum(seconds for seconds in later if seconds is not None)
    return max([total / capacity, *rest])
