"""Checks of the warmup of pretraining runs."""

from collections.abc import Collection, Iterator, Mapping, Sequence

from harness.experiment.arms import Arm
from harness.experiment.checks.grid import Problems
from harness.experiment.recipe_defaults import earlier_runs
from harness.experiment.yaml_reader import Keys
from harness.finetuning.search.pretrain_search import is_pretrained, is_searched, trial_run
from harness.pretraining.recipes.pretrain import Pretrain
from harness.pretraining.steps import planned_steps

SCHEDULE = ("pretrain", "schedule")
STEPS, FRACTION = "warmup_steps", "warmup_fraction"


def problems(arm: Arm) -> Problems:
    """A warmup that is longer than a run, or than a trial of its search, and an axis over a share
    of the updates where their number is given."""
    earlier = (((*path, "schedule"), run) for path, run in earlier_runs(arm.pretrain))
    for keys, run in ((SCHEDULE[1:], arm.pretrain), *earlier):
        if why := _too_long(run):
            field = ".".join(("pretrain", *keys, STEPS))
            yield ("pretrain", *keys, STEPS), f"{field} must be at most {why}"
    search, run = arm.pretrain_search, arm.pretrain
    if search and is_searched(run) and f"schedule.{STEPS}" not in search.space:
        why = _too_long(trial_run(run, search.budget_fraction))
        if why and not _too_long(run):
            yield (*SCHEDULE, STEPS), f"in a trial, pretrain.schedule.{STEPS} must be at most {why}"
    if run.schedule.warmup_steps is not None and FRACTION in _set_by_axes(arm):
        yield (*SCHEDULE, FRACTION), _unused(run)


def changed_problems(arms: Sequence[Arm], changed: Collection[Keys]) -> Problems:
    """A share of the updates, set by a variant or an override, where their number is given.

    Args:
        changed: keys that variants and overrides have set.
    """
    runs = [arm.pretrain for arm in arms if arm.pretrain.schedule.warmup_steps is not None]
    is_set = (*SCHEDULE, FRACTION) in changed and (*SCHEDULE, STEPS) not in changed
    if is_set and runs and len(runs) == len(arms):
        yield (*SCHEDULE, FRACTION), _unused(runs[0])


def _too_long(run: Pretrain) -> str:
    """The updates of a run, and its warmup, if that is longer; empty if not."""
    warmup, is_known = run.schedule.warmup_steps, not run.budget.seconds
    if not (warmup and is_known and is_pretrained(run)):
        return ""
    updates = planned_steps(run)
    return f"the {updates:,} updates, but is {warmup:,}" if warmup > updates else ""


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
