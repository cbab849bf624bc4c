"""Samplers and pruners that the number of trials does not suit."""

from collections.abc import Iterator

from harness.finetuning.search.space import num_points
from harness.finetuning.search.sweep import PRUNER_STARTUP, Sweep
from harness.plan.plan import Plan


def unsuited_sampler(plan: Plan) -> Iterator[str]:
    """A grid of another size, and a pruner that never prunes."""
    sweep = next(iter(plan.searches.values()), Sweep())
    if not sweep.trials:
        return
    if sweep.pruner == "median" and sweep.trials <= PRUNER_STARTUP:
        yield (
            f"sweep: the median pruner prunes no trial before the {PRUNER_STARTUP + 1}th, but there"
            f" are {sweep.trials}; leave it out, or take more trials"
        )
    cells = max(num_points(one.space) for one in plan.searches.values())
    if sweep.sampler == "grid" and sweep.trials != cells:
        shown = "in random order" if sweep.trials < cells else "each once"
        yield (
            f"sweep: {sweep.trials} trials for a grid of {cells} points, of which "
            f"{min(cells, sweep.trials)} are tried {shown}; set sweep.trials to {cells} for all"
        )
