"""Checks of the warmup of pretraining runs: a share of the updates where their number is given."""

from collections.abc import Collection, Iterator, Mapping, Sequence

from harness.experiment.arms import Arm
from harness.experiment.checks.grid import Problems
from harness.experiment.yaml_reader import Keys
from harness.pretraining.recipes.pretrain import Pretrain

SCHEDULE = ("pretrain", "schedule")
STEPS, FRACTION = "warmup_steps", "warmup_fraction"


def problems(arm: Arm) -> Problems:
    """An axis over a share of the updates."""
    if arm.pretrain.schedule.warmup_steps is not None and FRACTION in _set_by_axes(arm):
        yield (*SCHEDULE, FRACTION), _unused(arm.pretrain)


def changed_problems(arms: Sequence[Arm], changed: Collection[Keys]) -> Problems:
    """A share of the updates that a variant or an override sets.

    Args:
        changed: keys that variants and overrides have set.
    """
    runs = [arm.pretrain for arm in arms if arm.pretrain.schedule.warmup_steps is not None]
    is_set = (*SCHEDULE, FRACTION) in changed and (*SCHEDULE, STEPS) not in changed
    if is_set and runs and len(runs) == len(arms):
        yield (*SCHEDULE, FRACTION), _unused(runs[0])


def _set_by_axes(arm: Arm) -> Iterator[str]:
    """The fields of the schedule that axes and `arms` set."""
    for path, value in arm.changes.items():
        keys = tuple(path.split("."))
        if keys[:2] == SCHEDULE and len(keys) == 3:
            yield keys[2]
        elif keys == SCHEDULE and isinstance(value, Mapping):
            yield from value


def _unused(run: Pretrain) -> str:
    steps = run.schedule.warmup_steps
    return (
        f"pretrain.schedule.{FRACTION} has no effect, as {STEPS} is {steps:,}; set {STEPS} to null"
    )
