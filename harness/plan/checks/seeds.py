"""Arms with fewer pretraining runs, or independent scores, than the seeds that are declared."""

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


def few_ensembles(plan: Plan) -> Iterator[str]:
    """Arms with one ensemble over pretraining, and seeds that are in none."""
    seeds = plan.experiment.seeds.pretrain
    for arm in plan.arms:
        number = len(arm.replicates(seeds))
        if arm.networks > 1 and number == 1:
            yield (
                f"{arm.name}: {len(seeds)} pretraining seeds give one ensemble of {arm.networks}, "
                f"so that no difference from it can be judged; set seeds.pretrain to "
                f"{2 * arm.networks} or more"
            )
        if arm.networks > 1 and (left := len(seeds) - number * arm.networks):
            yield (
                f"{arm.name}: {left} of {len(seeds)} pretraining seeds are in no ensemble of "
                f"{arm.networks}; set seeds.pretrain to a multiple of {arm.networks}"
            )
