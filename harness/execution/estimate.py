"""The duration of a run, before it starts."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from harness.execution.time_left import duration, learned_durations, seconds_left
from harness.plan.costs import SECONDS_PER_STAGE, SUSTAINED_FLOPS
from harness.plan.plan import Plan, Stage
from harness.store.store import StageResult


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


def estimate(plan: Plan, finished: Mapping[str, StageResult], jobs: int) -> Estimate:
    """The expected duration of the stages that are not finished.

    Args:
        finished: all finished stages of the store, of this and other plans.
        jobs: stages that run at a time.
    """
    todo = [stage for key, stage in plan.stages.items() if key not in finished]
    known = learned_durations(finished.values())
    num_learned = sum(map(len, known.ended.values()))
    unknown = defaultdict(list)
    for stage in todo:
        if known.of(stage) is None:
            unknown[stage.kind].append(stage)
    for stages in unknown.values():
        for stage in stages:
            known.add(stage.kind, stage.flops, assumed_seconds(stage))
    seconds = seconds_left(known, [], todo, jobs)
    assert seconds is not None  # every kind has an entry
    return Estimate(seconds, len(todo), num_learned, tuple(unknown), jobs)


def assumed_seconds(stage: Stage) -> float:
    """Seconds of a stage at the assumed rate."""
    return SECONDS_PER_STAGE + stage.flops / SUSTAINED_FLOPS
