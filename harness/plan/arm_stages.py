"""The stages that each arm uses, with the names under which people look for them."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from harness.experiment.arms import Arm
from harness.plan.keys import without_nulls
from harness.plan.plan import Plan, Stage


@dataclass(frozen=True)
class ArmStage:
    """A stage as part of an arm; arms share stages."""

    arm: str
    stage: Stage
    tags: Mapping[str, str]
    """Kind, key, task, probe, trial, pretrain_fraction and seeds, as far as the stage has them."""


def arm_stages(plan: Plan) -> list[ArmStage]:
    """Every stage of every arm, parents before children."""
    used = {arm.name: set(_results(plan, arm.name)) for arm in plan.arms}
    for keys in used.values():
        for key in reversed(list(plan.stages)):
            if key in keys:
                keys.update(plan.stages[key].parents.values())
    tags = _all_tags(plan)
    return [
        ArmStage(arm, stage, tags[key])
        for arm, keys in used.items()
        for key, stage in plan.stages.items()
        if key in keys
    ]


def arm_digest(plan: Plan, arm: Arm) -> str:
    """A digest of what is declared for an arm, without seeds: 16 hexadecimal digits."""
    parts = (arm.pretrain, arm.evaluate, plan.experiment.sweep)
    content = [without_nulls(part.model_dump(mode="json")) for part in parts]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]


def _results(plan: Plan, arm: str) -> Iterator[str]:
    """Keys of the stages whose results are read for an arm."""
    yield from (key for (name, _), key in plan.pretrain_keys.items() if name == arm)
    runs = (plan.finetune_runs, plan.probe_runs, plan.sequential_scores, plan.retained_losses)
    yield from (run.key for kind in runs for run in kind if run.arm == arm)
    for run in plan.continued_runs_of(arm):
        losses = (run.loss_before, run.pretrain_loss_before, run.pretrain_loss_after)
        yield from (key for key in (run.key, *losses) if key)


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
