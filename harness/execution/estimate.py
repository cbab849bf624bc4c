"""The duration of a run, before it starts."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from harness.execution.time_left import Durations, duration, seconds_left
from harness.plan.costs import SECONDS_PER_STAGE, SUSTAINED_FLOPS
from harness.plan.plan import Stage


@dataclass(frozen=True)
class Estimate:
    """The expected duration of what a plan still has to compute."""

    seconds: float
    num_stages: int
    """Stages to compute."""
    num_learned: int
    """Stages of this machine whose durations were taken."""
    assumed: tuple[str, ...]
    """Kinds of stages that never ran on this machine, for which a rate was assumed."""
    jobs: int
    """Stages that run at a time."""

    @property
    def is_known(self) -> bool:
        """Whether a stage of each kind has ended on this machine."""
        return self.num_stages > 0 and not self.assumed

    @property
    def line(self) -> str:
        """The estimate in one sentence; empty if everything is finished."""
        if not self.num_stages:
            return ""
        time, at_a_time = duration(self.seconds), f"{self.jobs} at a time"
        if not self.num_learned:
            source = (
                f"to an order of magnitude ({SUSTAINED_FLOPS:.0e} FLOP/s assumed, as no stage has "
                "finished on this machine)"
            ).replace("e+", "e")
            return f"about {time} for {self.num_stages} stages, {at_a_time}, {source}"
        source = f"learned from {self.num_learned} finished stages"
        if self.assumed:
            source += f"; {', '.join(self.assumed)} to an order of magnitude, as none has finished"
        return f"about {time} on this machine for {self.num_stages} stages, {at_a_time} ({source})"


def estimate(todo: Sequence[Stage], learned: Durations, jobs: int) -> Estimate:
    """The expected duration of stages.

    Args:
        todo: stages to compute.
        learned: durations of earlier stages on this machine.
        jobs: stages that run at a time.
    """
    known = replace(learned, ended=defaultdict(list, learned.ended))
    unknown = defaultdict(list)
    for stage in todo:
        if known.of(stage) is None:
            unknown[stage.kind].append(stage)
    for stages in unknown.values():
        for stage in stages:
            known.add(stage.kind, stage.flops, assumed_seconds(stage))
    seconds = seconds_left(known, [], todo, jobs)
    assert seconds is not None  # every kind has an entry
    num_learned = sum(map(len, learned.ended.values()))
    return Estimate(seconds, len(todo), num_learned, tuple(unknown), jobs)


def assumed_seconds(stage: Stage) -> float:
    """Seconds of a stage at the assumed rate."""
    return SECONDS_PER_STAGE + stage.flops / SUSTAINED_FLOPS
