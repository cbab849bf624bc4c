"""Stages of ensembles: the runs of the members, and the run that averages and scores them."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from harness.finetuning.ensemble import Ensemble
from harness.plan.graph import StageGraph

Value = TypeVar("Value")
ROLE = "member"
"""Beginning of the role of a member among the parents of the run that scores an ensemble."""
NETWORK = "network"
"""Beginning of the role of a member's pretrained network, where that is not the first one's."""


def members_of(parents: Mapping[str, Value]) -> list[Value]:
    """Keys or folders of the members among the parents of a run, in order; empty if it is no
    ensemble."""
    number = sum(role.startswith(ROLE) for role in parents)
    return [parents[f"{ROLE}{index}"] for index in range(number)]


def add_ensemble(
    graph: StageGraph,
    ensemble: Ensemble,
    label: str,
    spec: Mapping[str, Any],
    parents: Sequence[Mapping[str, str]],
    flops: float,
) -> str:
    """Adds the members of an ensemble and the run that scores it.

    Args:
        spec: of a fine-tuning run; its seed is that of the ensemble.
        parents: role to key of the stages that a run builds on, for each pretrained network.
        flops: estimate for one run.

    Returns:
        Key of the run that scores it.
    """
    own = {name: value for name, value in spec.items() if name != "predict_test"}
    runs, members = _runs(ensemble, spec["seed"], parents), {}
    seeds = [seed for seed, _ in runs]
    for number, (seed, before) in enumerate(runs):
        member = {**own, "seed": seed, "save_weights": True}
        if ensemble.average == "weights" and number:
            member["initial_seed"] = seeds[0]
        name = f"{label}, member {number}"
        members[f"{ROLE}{number}"] = graph.stage("finetune", name, member, before, flops)
    scored = {**spec, "ensemble": {"average": ensemble.average, "seeds": seeds}}
    if ensemble.average == "weights":
        scored["initial_seed"] = seeds[0]
    others = {f"{NETWORK}{n}": before["pretrain"] for n, before in enumerate(parents) if n}
    return graph.stage("finetune", label, scored, {**parents[0], **members, **others})


def _runs(
    ensemble: Ensemble, seed: int, parents: Sequence[Mapping[str, str]]
) -> list[tuple[int, Mapping[str, str]]]:
    """Fine-tuning seed of each member, and what it builds on."""
    if ensemble.over:
        return [(seed, before) for before in parents]
    return [(own, parents[0]) for own in ensemble.seeds(seed)]
