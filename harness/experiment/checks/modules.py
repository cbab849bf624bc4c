"""Checks of `pretrain.module`."""

from harness.core.config import unknown_name
from harness.experiment.arms import Arm
from harness.experiment.checks.grid import Problems


def problems(arm: Arm) -> Problems:
    """A module that no plug-in of the experiment defines."""
    name = arm.pretrain.module
    if name is None:
        return
    from harness.pretraining.module import MODULES  # loads torch, as the plug-in does

    if name not in MODULES:
        message = unknown_name("the module", name, MODULES or ["none: list its plug-in in plugins"])
        yield ("pretrain", "module"), f"pretrain.module: {message}"
