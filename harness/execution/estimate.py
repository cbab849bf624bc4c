"""The duration of a run, before it starts."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

from harness.core.counting import number_of
from harness.execution.time_left import ALIKE, Durations, duration, seconds_left
from harness.plan.costs import (
    SECONDS_OF_TEXT,
    SECONDS_PER_STAGE,
    SECONDS_PER_UPDATE,
    SUSTAINED_FLOPS,
)
from harness.plan.plan import Stage
from harness.pretraining.recipes.pretrain import Pretrain
from harness.pretraining.steps import planned_steps


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
        stages = number_of(self.num_stages, "stage")
        if not self.num_learned:
            source = (
                "to an order of magnitude (rates of the shipped quickstart, as no stage has "
                "finished on this machine)"
            )
            return f"about {time} for {stages}, {at_a_time}, {source}"
        source = f"learned from {number_of(self.num_learned, 'finished stage')}"
        if self.assumed:
            source += f"; {', '.join(self.assumed)} to an order of magnitude, as none has finished"
        return f"about {time} on this machine for {stages}, {at_a_time} ({source})"


def estimate(todo: Sequence[Stage], learned: Durations, jobs: int) -> Estimate:
    """The expected duration of stages.

    Args:
        todo: stages to compute.
        learned: durations of earlier stages on this machine.
        jobs: stages that run at a time.
    """
    known = replace(learned, ended=defaultdict(list, learned.ended))
    unknown = defaultdict(list)
    of = cache(known.seconds)
    for stage in todo:
        found = of(stage.kind, stage.flops)
        if found is None or (not found and stage.kind in SECONDS_OF_TEXT):
            unknown[stage.kind].append(stage)
    for stages in unknown.values():
        for stage in stages:
            known.add(stage.kind, stage.flops, assumed_seconds(stage))
    seconds = seconds_left(known, [], todo, jobs)
    assert seconds is not None  # every kind has an entry
    num_learned = sum(map(len, learned.ended.values()))
    return Estimate(seconds, len(todo), num_learned, tuple(unknown), jobs)


def assumed_seconds(stage: Stage, flops_per_second: float = SUSTAINED_FLOPS) -> float:
    """Seconds of a stage at an assumed rate; the others are those of one thread."""
    fixed, run = SECONDS_OF_TEXT.get(stage.kind, SECONDS_PER_STAGE), _pretraining(stage)
    if run and run.budget.seconds:
        return fixed + run.budget.seconds
    updates = planned_steps(run) if run else 0
    return fixed + updates * SECONDS_PER_UPDATE + stage.flops / flops_per_second


def _pretraining(stage: Stage) -> Pretrain | None:
    """The run of a stage that pretrains; null for others."""
    is_pretraining = ALIKE.get(stage.kind, stage.kind) == "pretrain"
    if not is_pretraining or "pretrain" not in stage.spec:
        return None
    return Pretrain.model_validate(stage.spec["pretrain"])
