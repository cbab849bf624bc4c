"""Arms with fewer pretraining runs than the seeds that are declared."""

from collections.abc import Iterator

from harness.plan.plan import Plan


def single_runs(plan: Plan) -> Iterator[str]:
    """Checkpoints beside other arms: each is one pretraining run."""
    named = ", ".join(arm.name for arm in plan.arms if arm.has_one_run)
    if named and len(plan.arms) > 1:
        yield (
            f"{named}: a checkpoint is one pretraining run for any number of seeds, so that "
            "differences from it are never confirmed or refuted; their intervals say how these "
            "models differ on such examples, not whether one way of pretraining is better"
        )
