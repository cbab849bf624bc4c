"""Checks of `compute.devices` against the runs that it is for."""

from collections.abc import Iterator, Sequence

from harness.experiment.arms import Arm
from harness.experiment.checks.grid import Problems
from harness.experiment.experiment import Experiment
from harness.experiment.recipe_defaults import ROLES


def device_problems(experiment: Experiment, arms: Sequence[Arm]) -> Problems:
    """More devices than a batch has sequences. How many `auto` are is known on each machine."""
    devices = experiment.compute.devices
    if devices != "auto" and (why := small_batch(arms, devices)):
        yield ("compute", "devices"), why


def small_batch(arms: Sequence[Arm], devices: int) -> str:
    """Why no batch can be divided among so many devices; empty if all can."""
    size, run = min(_batch_sizes(arms), default=(devices, ""))
    if size >= devices:
        return ""
    return (
        f"compute.devices must be at most the sequences of a batch, {size} in {run}, but is "
        f"{devices}; lower it, or raise the batch_size"
    )


def _batch_sizes(arms: Sequence[Arm]) -> Iterator[tuple[int, str]]:
    """Sequences in a batch of each run that pretrains, and what the run is."""
    for arm in arms:
        run = arm.pretrain
        for role in ROLES:
            if other := getattr(run, role):
                yield other.batch_size, f"the {role} of {arm.name!r}"
        if not (run.model.checkpoint or run.budget.is_zero):
            yield run.batch_size, f"the pretraining of {arm.name!r}"
        for step in arm.evaluate.continued_pretraining:
            yield step.batch_size or run.batch_size, f"the continued pretraining of {arm.name!r}"
