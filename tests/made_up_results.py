"""Made-up experiments on GLUE with arms of a given skill: results without a store."""

import itertools
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

from harness.analysis.frames import (
    adaptation,
    continued_pretraining,
    costs,
    runs,
    scores,
    trials,
    vocabularies,
)
from harness.analysis.results import Results
from harness.experiment.arms import Arm
from harness.experiment.declaration import Declaration
from harness.experiment.experiment import Experiment
from harness.leaderboard.build import experiment_comparer, experiment_table
from harness.leaderboard.table import Table
from harness.plan.plan import FinetuneRun, Plan, Stage
from harness.pretraining.budget import Budget
from harness.pretraining.recipes import RECIPES
from harness.pretraining.recipes.pretrain import Pretrain
from harness.report.declared import declared_expectations
from harness.report.looks import made_looks
from harness.report.pairwise import pairwise
from harness.report.provenance import report_provenance
from harness.report.verdict import Pair
from harness.store.store import StageResult
from harness.tasks import TASKS
from harness.tasks.examples import Examples
from harness.tasks.scores import counts, predictions_frame, score

PART = ("sst2", "mrpc", "stsb")
SEEDS = (3, 2)
"""Pretraining and fine-tuning seeds."""
FRAMES: dict[str, Callable[[Results], Any]] = {
    "scores": scores.scores_frame,
    "checkpoints": scores.checkpoint_scores_frame,
    "sequential": scores.sequential_scores_frame,
    "curves": runs.curves_frame,
    "runs": runs.finetune_runs_frame,
    "pretraining": runs.pretrain_runs_frame,
    "sources": runs.source_losses_frame,
    "costs": costs.costs_frame,
    "totals": costs.total_costs,
    "vocabularies": vocabularies.vocabularies_frame,
    "probes": scores.probes_frame,
    "probe_items": scores.probe_items_frame,
    "checkpoint_probes": scores.checkpoint_probes_frame,
    "losses": continued_pretraining.continued_losses_frame,
    "trials": trials.trials_frame,
    "adaptation_costs": adaptation.adaptation_costs_frame,
    "diagnostics": adaptation.diagnostics_frame,
    "retained": adaptation.retained_losses_frame,
    "trained": adaptation.trained_parameters,
    "label_counts": adaptation.label_counts,
    "provenance": report_provenance,
    "declared": declared_expectations,
    "looks_made": made_looks,
}
"""Name of a frame to its function."""


class MadeUpResults(Results):
    """Results whose frames are given."""

    def __init__(
        self,
        plan: Plan,
        finished: Mapping[str, StageResult],
        predictions: Callable[[str], pd.DataFrame],
        counts: Callable[[str], Mapping[str, np.ndarray]],
        frames: Mapping[str, Any],
    ) -> None:
        self.plan, self.given = plan, (plan, finished, predictions, counts, frames)
        self._made = {FRAMES[name]: frame for name, frame in frames.items()}
        self.__dict__["finished"] = dict(finished)
        self.predictions, self.counts = predictions, counts  # type: ignore

    def __getattr__(self, name: str) -> Any:
        if name in FRAMES:
            return self.get(FRAMES[name])
        raise AttributeError(name)

    def but(self, **changes: Any) -> "MadeUpResults":
        """A copy with other frames, `arms`, `differences`, `predictions`, `counts`, or fields of
        the experiment."""
        plan, finished, predictions, counts, frames = self.given
        predictions = changes.pop("predictions", predictions)
        counts = changes.pop("counts", counts)
        differences = changes.pop("differences", plan.differences)
        names = changes.pop("arms", [arm.name for arm in plan.arms])
        frames = {**frames, **{name: changes.pop(name) for name in FRAMES if name in changes}}
        if expect := changes.pop("expect", None):
            changes["expect"] = [{"better": better, "worse": worse} for better, worse in expect]
        experiment = plan.experiment.model_dump() | changes
        plan = make_plan(experiment, names, differences, plan.finetune_runs)
        return MadeUpResults(plan, finished, predictions, counts, frames)


UNTRAINED = RECIPES["bert"].model_copy(update={"budget": Budget(tokens=0)})


def with_recipes(data: MadeUpResults, **recipes: Pretrain) -> MadeUpResults:
    """The same with other recipes of the arms that are named."""
    arms = [replace(arm, pretrain=recipes.get(arm.name, arm.pretrain)) for arm in data.plan.arms]
    declaration = replace(data.plan.declaration, arms=tuple(arms))
    data.plan = replace(data.plan, declaration=declaration)
    return data


def expecting(data: MadeUpResults, *expect: Any) -> MadeUpResults:
    """The results with expectations: (first, second, outcome), or as a user writes them."""
    declared = [
        {"better": one[0], "worse": one[1], "outcome": one[2]} if isinstance(one, tuple) else one
        for one in expect
    ]
    known = Experiment.model_validate({**data.experiment.model_dump(), "expect": declared}).expect
    experiment = data.experiment.model_copy(update={"expect": known})
    changed = replace(data.plan.declaration, experiment=experiment)
    data.plan = replace(data.plan, declaration=changed)
    return data


def table_of(data: Results, average: str | None = None) -> Table:
    """The table without shared ranks."""
    return experiment_table(data, average)


def pairs_of(data: Results, table: Table) -> tuple[Pair, ...]:
    """The differences in a report."""
    return pairwise(data, table, experiment_comparer(data, table))


def make_plan(
    experiment: Mapping[str, Any],
    arms: list[str],
    differences: Mapping[str, Any],
    finetune_runs: tuple[FinetuneRun, ...],
) -> Plan:
    declared = Experiment.model_validate(experiment)
    evaluate = declared.evaluate
    values = tuple(
        Arm(name, {"arm": name}, {}, RECIPES["bert"], evaluate, declared.sweep) for name in arms
    )
    return Plan(
        declaration=Declaration(declared, values),
        stages={run.key: Stage("finetune", run.key, run.key, {}, {}, 0.0) for run in finetune_runs},
        finetune_runs=finetune_runs,
        pretrain_keys={},
        costs={},
        differences=differences,
        declared=frozenset(),
    )


def _predict(kind: str, labels: np.ndarray, skill: float, rng: np.random.Generator) -> np.ndarray:
    if kind == "regression":
        return labels * skill + rng.standard_normal(len(labels))
    return np.where(rng.random(len(labels)) < skill, labels, 1 - labels)


@pytest.fixture(scope="session")
def fabricate() -> Callable[..., MadeUpResults]:
    """Makes results: `skills` is {arm: share of correct answers}; further fields as for `but`."""

    def make(
        skills: dict[str, float], tasks=PART, seeds=SEEDS, examples=120, **fields: Any
    ) -> MadeUpResults:
        return _made_up(tuple(skills.items()), tuple(tasks), seeds, examples).but(**fields)

    return make


@cache
def _made_up(
    skilled: tuple[tuple[str, float], ...],
    tasks: tuple[str, ...],
    seeds: tuple[int, int],
    examples: int,
) -> MadeUpResults:
    skills = dict(skilled)
    rng = np.random.default_rng(0)
    finetune_runs, finished, predictions, counted = [], {}, {}, {}
    labels = {
        task: rng.integers(2, size=examples)
        if TASKS[task].kind == "classification"
        else rng.uniform(0, 5, examples)
        for task in tasks
    }
    for arm, task in itertools.product(skills, tasks):
        for pretrain, finetune in np.ndindex(seeds):
            key = f"{arm}-{task}-{pretrain}-{finetune}"
            answers = _predict(TASKS[task].kind, labels[task], skills[arm], rng)
            splits = [split.name for split in TASKS[task].evaluation]
            given = Examples([("",)] * examples, labels[task])
            predictions[key] = pd.concat(
                predictions_frame(split, given, answers) for split in splits
            )
            found = counts(TASKS[task], given, answers)
            counted[key] = {
                f"{split}/{name}": array
                for split, (name, array) in itertools.product(splits, found.items())
            }
            metrics = {
                f"{split}/{name}": value
                for split in splits
                for name, value in score(TASKS[task], given, answers).items()
            }
            defined = {name: value for name, value in metrics.items() if value is not None}
            finished[key] = StageResult(key, "finetune", key, defined | {"seconds": 1.5}, "", "")
            finetune_runs.append(FinetuneRun(arm, task, pretrain, finetune, key))
    experiment = {
        "name": "made-up",
        "question": "Is good better?",
        "source": "Nobody 2020",
        "pretrain": {},
        "seeds": dict(zip(("pretrain", "finetune"), seeds, strict=True)),
        "evaluate": {"suite": "glue-v1", "tasks": tasks, "protocol": {"pooling": "cls"}},
    }
    differences = {"pretrain.recipe": {arm: arm for arm in skills}}
    plan = make_plan(experiment, list(skills), differences, tuple(finetune_runs))
    frames = {
        "curves": _curves(skills, seeds[0]),
        "costs": _costs(skills),
        "totals": _totals(skills, seeds[0]),
        "declared": {},
        "looks_made": {},
        "provenance": {"machine": {"cpu": "one"}, "command": "harness run made-up.yaml"},
    }
    return MadeUpResults(plan, finished, predictions.__getitem__, counted.__getitem__, frames)


def _curves(arms: Mapping[str, float], num_seeds: int) -> pd.DataFrame:
    steps = np.arange(1, 6) * 100
    frames = [
        pd.DataFrame({"arm": arm, "pretrain_seed": seed, "step": steps, "tokens": steps * 512,
                      "loss": 5 / steps + seed / 10})
        for arm in arms
        for seed in range(num_seeds)
    ]  # fmt: skip
    return pd.concat(frames)


def _costs(arms: Mapping[str, float]) -> pd.DataFrame:
    cost = {"seconds": 1.5, "tokens": 1e6, "parameters": 2e5, "flops": 3e12}
    rows = [
        {"arm": arm, "stage": stage, **cost} for arm in arms for stage in ("pretrain", "finetune")
    ]
    return pd.DataFrame(rows)


def _totals(arms: Mapping[str, float], num_seeds: int) -> pd.DataFrame:
    one = {"tokens": 1e6 * num_seeds, "flops": 2e12 * num_seeds, "hours": 0.5}
    every = {name: value * len(arms) for name, value in one.items()}
    return pd.DataFrame([one] * len(arms) + [every], index=[*arms, costs.ALL_ARMS])
