"""Compute settings without effect."""

from collections.abc import Iterator

from harness.plan.plan import Plan


def unused_strategy(plan: Plan) -> Iterator[str]:
    """A strategy for several devices with one."""
    compute = plan.experiment.compute
    if compute.strategy != "auto" and (compute.devices, compute.num_nodes) == (1, 1):
        yield (
            f"compute.strategy {compute.strategy} has no effect, as compute.devices is 1; raise "
            "that, or remove the strategy"
        )
