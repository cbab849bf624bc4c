"""The part of a plan with the first pretraining seeds, and the order of seeds by looks."""

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from harness.plan.plan import Plan

RUNS = ("finetune_runs", "probe_runs", "sequential_scores", "retained_losses", "continued_runs")
"""Fields of a plan with runs of one pretraining seed each."""


def first_seeds(plan: Plan, number: int) -> Plan:
    """The plan with the runs of the first pretraining seeds of each arm; all stages remain."""
    declared = plan.experiment.seeds
    kept = declared.pretrain[:number]
    seeds = declared.model_copy(update={"pretrain": kept, "looks": ()})
    experiment = plan.experiment.model_copy(update={"seeds": seeds})
    parts: dict[str, Any] = {
        name: tuple(run for run in getattr(plan, name) if run.pretrain_seed in kept)
        for name in RUNS
    }
    keys = {of: key for of, key in plan.pretrain_keys.items() if of[1] in kept}
    declaration = replace(plan.declaration, experiment=experiment)
    return replace(plan, declaration=declaration, pretrain_keys=keys, **parts)


def keys_of_seed(plan: Plan) -> Iterator[tuple[str, int, str]]:
    """(arm, pretraining seed, key) of the results of each seed."""
    yield from ((arm, seed, key) for (arm, seed), key in plan.pretrain_keys.items())
    for name in RUNS:
        yield from ((run.arm, run.pretrain_seed, run.key) for run in getattr(plan, name))


def look_of_stages(plan: Plan) -> Mapping[str, int]:
    """Key of a stage to the first look that needs it, from 0; empty without looks."""
    seeds, found = plan.experiment.seeds, dict[str, int]()
    if not seeds.looks:
        return found
    looks = {seed: bisect_right(seeds.looks, place) for place, seed in enumerate(seeds.pretrain)}
    for _, seed, key in keys_of_seed(plan):
        found[key] = min(looks[seed], found.get(key, len(looks)))
    for key in reversed(list(plan.stages)):  # children before parents
        for parent in plan.stages[key].parents.values():
            if key in found:
                found[parent] = min(found[key], found.get(parent, len(looks)))
    return found
