"""Samplers and pruners that the number of trials does not suit."""

from collections.abc import Iterator

from harness.finetuning.search.pretrain_search import PretrainSearch
from harness.finetuning.search.space import most_epochs, num_points, ranges_of
from harness.finetuning.search.sweep import PRUNER_STARTUP, Sweep
from harness.plan.plan import Plan

ETA = 3
"""Most epochs from which on `hyperband` has more than one bracket."""


def unsuited_sampler(plan: Plan) -> Iterator[str]:
    """A grid of another size, random trials of the same points, and a pruner that never prunes."""
    if before := plan.experiment.sweep.pretrain:
        cells = max(map(num_points, before.spaces))
        yield from _other_size("sweep.pretrain", before, cells)
        is_listed = not any(map(ranges_of, before.spaces))
        if before.sampler == "random" and is_listed and before.trials > cells:
            yield (
                f"sweep.pretrain: {before.trials} random trials of {cells} points try some of them "
                f"again, with equal results; take the sampler grid with {cells} trials"
            )
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
    yield from _other_size("sweep", sweep, cells)


def _other_size(field: str, search: Sweep | PretrainSearch, cells: int) -> Iterator[str]:
    """A grid of `cells` points with another number of trials."""
    trials = search.trials
    if search.sampler == "grid" and trials != cells:
        shown = "in random order" if trials < cells else "each once"
        yield (
            f"{field}: {trials} trials for a grid of {cells} points, of which "
            f"{min(cells, trials)} are tried {shown}; set {field}.trials to {cells} for all"
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
