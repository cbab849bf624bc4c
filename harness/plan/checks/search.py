"""Samplers and pruners that the number of trials does not suit."""

from collections.abc import Iterator

from harness.finetuning.search.space import most_epochs, num_points
from harness.finetuning.search.sweep import PRUNER_STARTUP, Sweep
from harness.plan.plan import Plan

ETA = 3
"""Most epochs from which on `hyperband` has more than one bracket."""


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
    yield from _needless_pruner(plan, sweep.pruner)
    cells = max(num_points(one.space) for one in plan.searches.values())
    if sweep.sampler == "grid" and sweep.trials != cells:
        shown = "in random order" if sweep.trials < cells else "each once"
        yield (
            f"sweep: {sweep.trials} trials for a grid of {cells} points, of which "
            f"{min(cells, sweep.trials)} are tried {shown}; set sweep.trials to {cells} for all"
        )


def _needless_pruner(plan: Plan, pruner: str | None) -> Iterator[str]:
    """A pruner of trials without a second epoch, and Hyperband with a single bracket."""
    epochs = max(
        most_epochs(arm.sweep.space, arm.evaluate.finetune.epochs)
        for arm in plan.arms
        if arm.name in plan.searches
    )
    if pruner and epochs == 1:
        yield (
            f"sweep: the pruner {pruner} ends trials after an epoch, but all have a single one; "
            "leave it out, or search more epochs"
        )
    elif pruner == "hyperband" and epochs < ETA:
        yield (
            f"sweep: with at most {epochs} epochs, hyperband has a single bracket and equals "
            f"successive_halving; take that one, or search {ETA} epochs or more"
        )
