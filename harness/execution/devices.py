"""The devices of this machine, and the stages that several of them compute together."""

from collections.abc import Sequence

from harness.execution.job import StageJob
from harness.experiment.checks.compute import small_batch
from harness.plan.plan import Plan, Stage

ON_DEVICES = ("pretrain", "continue_pretraining")
"""Kinds of stages that `compute.devices` applies to."""


def uses_devices(stage: Stage | StageJob) -> bool:
    """Whether `compute.devices` applies to a stage; the import of a checkpoint trains nothing."""
    return stage.kind in ON_DEVICES and "pretrain" in stage.spec


def devices_problem(plan: Plan, todo: Sequence[Stage]) -> str:
    """Why this machine cannot compute stages of a plan; empty if it can. Loads torch if stages take
    a GPU or several devices.

    Args:
        todo: stages to compute.
    """
    compute = plan.experiment.compute
    is_divided = compute.devices != 1 and any(map(uses_devices, todo))
    if not todo or not (is_divided or compute.accelerator == "gpu"):
        return ""
    from harness.pretraining.distributed import num_devices

    try:
        devices = num_devices(compute)
    except ValueError as error:
        return str(error)
    return small_batch(plan.arms, devices) if is_divided else ""
