"""The devices of this machine, and the stages that several of them compute together."""

from collections.abc import Sequence

from harness.core.compute import Compute
from harness.execution.job import StageJob
from harness.experiment.checks.compute import small_batch
from harness.plan.plan import Plan, Stage

ON_DEVICES = ("pretrain_trial", "pretrain", "continue_pretraining")
"""Kinds of stages that `compute.devices` and `compute.num_nodes` apply to."""


def uses_devices(stage: Stage | StageJob) -> bool:
    """Whether these apply to a stage; the import of a checkpoint trains nothing."""
    return stage.kind in ON_DEVICES and "pretrain" in stage.spec


def one_node_problem(compute: Compute) -> str:
    """Why one machine cannot compute the stages that take devices; empty if it can."""
    if compute.num_nodes == 1:
        return ""
    return (
        f"compute.num_nodes must be 1 where stages are computed on this machine, but is "
        f"{compute.num_nodes}; add --executor ray or slurm, or change it"
    )


def devices_problem(plan: Plan, todo: Sequence[Stage]) -> str:
    """Why this machine cannot compute stages of a plan; empty if it can. Loads torch if stages take
    a GPU or several devices.

    Args:
        todo: stages to compute.
    """
    compute = plan.experiment.compute
    is_divided = (compute.devices, compute.num_nodes) != (1, 1) and any(map(uses_devices, todo))
    if is_divided and (why := one_node_problem(compute)):
        return why
    if not todo or not (is_divided or compute.accelerator == "gpu"):
        return ""
    from harness.pretraining.distributed import num_devices

    try:
        devices = num_devices(compute)
    except ValueError as error:
        return str(error)
    return small_batch(plan.arms, devices) if is_divided else ""
