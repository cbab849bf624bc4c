"""Checks of `compute.loggers`."""

from collections.abc import Sequence

from harness.experiment.arms import Arm
from harness.experiment.checks.grid import Problems
from harness.experiment.experiment import Experiment
from harness.pretraining.loggers import unavailable_reason


def logger_problems(experiment: Experiment, arms: Sequence[Arm]) -> Problems:
    """Loggers that do not exist, or whose package is not installed."""
    for index, name in enumerate(experiment.compute.loggers):
        if why := unavailable_reason(name):
            yield ("compute", "loggers", index), f"compute.loggers: {why}"
