"""Budgets at which the same pretraining has scored at chance before."""

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd
from pydantic import ValidationError

from harness.experiment.arms import Arm
from harness.plan.costs import pretraining_cost
from harness.plan.plan import Plan
from harness.pretraining.recipes.pretrain import Pretrain
from harness.store.recorded import RecordedExperiment, recorded_experiments
from harness.store.store import Store
from harness.tasks.task import Task

SAME = ("objective", "model", "size", "corpus")
"""Fields of `pretrain` that, with the kind of optimiser, make two runs the same but for their
budget and its settings."""
MARGIN = 0.02
"""How far a mean score may lie above chance to count as at chance."""


def chance_budgets(plan: Plan, store: Store) -> Iterator[str]:
    """A line on each arm with at most the tokens of an arm of another experiment that had the same
    pretraining and scored at chance on all tasks of both."""
    earlier = [one for one in recorded_experiments(store) if one.name != plan.experiment.name]
    for arm in plan.arms:
        tokens = plan.costs[arm.name].tokens
        found = [one for other in earlier for one in _at_chance(arm, other)] if tokens else []
        most, who, scores = max(found, default=(0, "", ""))
        if tokens and most >= tokens:
            yield (
                f"{arm.name}: with {most:,} tokens, the same pretraining scored at chance in {who} "
                f"({scores}), and here it has {tokens:,}; raise pretrain.budget"
            )


def _at_chance(arm: Arm, other: RecordedExperiment) -> Iterator[tuple[int, str, str]]:
    """Tokens, name and scores of the arms of an experiment that are like `arm` and at chance."""
    fields = arm.pretrain.model_dump(mode="json")
    for name, found in other.spec["arms"].items():
        pretrain = found["pretrain"]
        if any(pretrain.get(field) != fields[field] for field in SAME):
            continue
        if pretrain.get("optimizer", {}).get("kind", "adamw") != fields["optimizer"]["kind"]:
            continue
        runs = other.scores[other.scores["arm"] == name]
        means = {task.name: _mean(task, runs) for task in arm.evaluate.chosen.values()}
        known = {task: mean for task, mean in means.items() if pd.notna(mean)}
        chosen = arm.evaluate.chosen
        if known and all(mean <= (chosen[t].chance or 0) + MARGIN for t, mean in known.items()):
            shown = ", ".join(f"{task} {100 * mean:.1f}" for task, mean in known.items())
            yield _tokens(pretrain), f"{name} of {other.name}", shown


def _mean(task: Task, runs: pd.DataFrame) -> float:
    """Mean of the main metric; NaN without runs, and for tasks whose chance is not known."""
    if task.chance is None:
        return float("nan")
    place = (runs["split"] == task.evaluation[0].name) & (runs["metric"] == task.metrics[0])
    return float(runs.loc[place & (runs["task"] == task.name), "value"].mean())


def _tokens(pretrain: Mapping[str, Any]) -> int:
    """Tokens of a recorded run; 0 if they are unknown, as of an earlier version with other
    fields."""
    try:
        return pretraining_cost(Pretrain.model_validate(pretrain)).tokens or 0
    except ValidationError:
        return 0
