"""The stages that each arm uses, with the names under which people look for them."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from harness.experiment.arms import Arm
from harness.plan.keys import without_nulls
from harness.plan.plan import Plan, Stage
from harness.plan.protocol import PER_SEED


@dataclass(frozen=True)
class ArmStage:
    """A stage as part of an arm; arms share stages."""

    arm: str
    stage: Stage
    tags: Mapping[str, str]
    """Kind, key, task, probe, trial, pretrain_fraction and seeds, as far as the stage has them."""


def arm_stages(plan: Plan) -> list[ArmStage]:
    """Every stage of every arm, parents before children."""
    place = {key: number for number, key in enumerate(plan.stages)}
    results, tags = _results(plan), _all_tags(plan)
    return [
        ArmStage(arm.name, plan.stages[key], tags[key])
        for arm in plan.arms
        for key in sorted(_with_ancestors(plan, results[arm.name]), key=place.__getitem__)
    ]


def _with_ancestors(plan: Plan, keys: Iterable[str]) -> set[str]:
    found, open_ = set(), list(keys)
    while open_:
        key = open_.pop()
        if key not in found:
            found.add(key)
            open_.extend(plan.stages[key].parents.values())
    return found


def arm_digest(plan: Plan, arm: Arm) -> str:
    """A digest of what is declared for an arm, without the numbers of the seeds: 16 hexadecimal
    digits."""
    parts = (arm.pretrain, arm.evaluate, plan.experiment.sweep)
    content = [without_nulls(part.model_dump(mode="json")) for part in parts]
    if plan.experiment.seeds.in_worlds:
        content.append(PER_SEED)
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]


def _results(plan: Plan) -> dict[str, list[str]]:
    """Arm to the keys of the stages whose results are read for it."""
    found: dict[str, list[str]] = defaultdict(list)
    for (arm, _), key in plan.pretrain_keys.items():
        found[arm].append(key)
    for runs in (plan.finetune_runs, plan.probe_runs, plan.sequential_scores, plan.retained_losses):
        for run in runs:
            found[run.arm].append(run.key)
    for one in plan.continued_runs:
        losses = (one.loss_before, one.pretrain_loss_before, one.pretrain_loss_after)
        found[one.arm] += [key for key in (one.key, *losses) if key]
    return found


def _all_tags(plan: Plan) -> dict[str, dict[str, str]]:
    """Key to tags. Stages without a seed of their own have those of their parents."""
    tags: dict[str, dict[str, str]] = {}
    seeds = {key: str(seed) for (_, seed), key in reversed(list(plan.pretrain_keys.items()))}
    for key, stage in plan.stages.items():
        found = {"kind": stage.kind, "key": key}
        for parent in stage.parents.values():  # the network first, a search with other seeds last
            for name in ("pretrain_seed", "finetune_seed"):
                if name in tags[parent]:
                    found.setdefault(name, tags[parent][name])
        for name in ("task", "probe", "trial", "pretrain_fraction"):
            if name in stage.spec:
                found[name] = str(stage.spec[name])
        if "tasks" in stage.spec:
            found["task"] = ", ".join(task["task"] for task in stage.spec["tasks"])
        if stage.kind in ("pretrain", "continue_pretraining") and "seed" in stage.spec:
            found["pretrain_seed"] = str(stage.spec["seed"])
        if stage.kind in ("finetune", "train_tasks"):
            found["finetune_seed"] = str(stage.spec["seed"])
        if key in seeds:
            found["pretrain_seed"] = seeds[key]
        tags[key] = found
    return tags
