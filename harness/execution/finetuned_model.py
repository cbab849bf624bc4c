"""A fine-tuned model of the store, for use outside a stage."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.core.compute import Compute
from harness.core.config import unknown_name
from harness.execution.stages.context import StageContext
from harness.execution.stages.search import tuned_spec
from harness.execution.stages.task_runner import TaskRunner
from harness.finetuning.adapted_weights import load_adapted
from harness.finetuning.baselines.predictor import Predictor
from harness.finetuning.run import prepared_model
from harness.finetuning.task_model import TaskModel
from harness.plan.plan import FinetuneRun, Plan
from harness.store.store import Store
from harness.tasks.task import Task
from harness.tasks.unlabelled import Text, in_words, unlabelled

Run = tuple[str | None, str, int, int]
"""Arm, task, pretraining seed and fine-tuning seed."""


@dataclass(frozen=True)
class FinetunedModel:
    """A model with the head of its task."""

    task: Task
    model: TaskModel
    predictor: Predictor
    """Examples to predictions, as the stage scored them."""

    def predict(
        self, texts: Iterable[Text], choices: Sequence[Sequence[str]] | None = None
    ) -> list[Any]:
        """Predictions for [num_examples] texts that are in no data set, by name: a class, a choice,
        a number, a text, a list of tags, or the mentions of each entity; see `in_words`.

        Texts are cut to `evaluate.protocol.max_sequence_length`, as those of the data set are.

        Args:
            texts: a text for each example, or (first, second) of a pair; for tagging a list of
                words, for coreference a list of sentences.
            choices: of each example of a multiple-choice task.

        Raises:
            ValueError: an example has not the parts that the task needs, or the task ranks all
                texts of a split.
        """
        examples = unlabelled(self.task, texts, choices)
        return in_words(self.task, self.predictor(examples), examples) if len(examples) else []


def finetuned_of(
    plan: Plan,
    store: Store,
    task: str,
    arm: str | None = None,
    pretrain_seed: int = 0,
    finetune_seed: int = 0,
) -> FinetunedModel:
    """The model of one fine-tuning run of a plan.

    Args:
        arm: null: the only one.

    Raises:
        ValueError: there is no such run, it is not finished, or its weights were not saved.
    """
    if arm is None and len(plan.arms) == 1:
        arm = plan.arms[0].name
    wanted = (arm, task, pretrain_seed, finetune_seed)
    runs: dict[Run, FinetuneRun] = {
        (one.arm, one.task, one.pretrain_seed, one.finetune_seed): one
        for one in plan.finetune_runs
        if one.pretrain_fraction == 1
    }
    if wanted not in runs:
        raise ValueError(_unknown_run(wanted, list(runs)))
    stage = plan.stages[runs[wanted].key]
    found = store.finished([stage.key, *stage.parents.values()])
    if stage.key not in found:
        raise ValueError(f"{stage.label} is not finished: run it first")
    inputs = {role: store.all_files(found[key]) for role, key in stage.parents.items()}
    return load_finetuned(stage.spec, inputs, store.all_files(found[stage.key]), store.root)


def _unknown_run(wanted: Run, runs: Sequence[Run]) -> str:
    """What is wrong with an arm, a task and two seeds that no run has."""
    arm, task, *_ = wanted
    known = list(dict.fromkeys(str(one) for one, *_ in runs))
    if arm is None:
        return f"arm must be one of {', '.join(known)}, but is not given"
    if arm not in known:
        return unknown_name("the arm", arm, known)
    tasks = list(dict.fromkeys(of for one, of, *_ in runs if one == arm))
    if task not in tasks:
        return unknown_name(f"the fine-tuned task of {arm}", task, tasks)
    seeds = [f"({first}, {second})" for one, of, first, second in runs if (one, of) == (arm, task)]
    return (
        f"(pretrain_seed, finetune_seed) must be {', '.join(seeds[:-1])}"
        f"{' or ' if len(seeds) > 1 else ''}{seeds[-1]}, but is ({wanted[2]}, {wanted[3]})"
    )


def load_finetuned(
    spec: Mapping[str, Any], inputs: Mapping[str, Path], out: Path, shared: Path
) -> FinetunedModel:
    """The model that a `finetune` stage trained.

    Args:
        spec: arguments of the stage.
        inputs: role to the folder of a parent stage.
        out: folder that the stage wrote.
        shared: folder for caches.

    Raises:
        ValueError: the stage did not save its weights, or has several networks.
    """
    weights = out / "weights"
    if spec.get("ensemble", {}).get("average") == "outputs":
        raise ValueError(
            "an ensemble whose outputs are averaged is no single network; set "
            "evaluate.ensemble.average to weights, or take an arm without ensemble"
        )
    if not weights.is_dir():
        raise ValueError(
            "the weights of this run were not saved: set evaluate.save_weights: true and run it"
        )
    spec = tuned_spec(spec, inputs)
    context = StageContext(
        spec, inputs, out, shared, shared, Compute(accelerator="cpu"), lambda *_, **__: None
    )
    runner = TaskRunner(context)
    seed, adaptation = spec.get("initial_seed", spec["seed"]), runner.adaptation
    model = prepared_model(runner.model, runner.head, adaptation, seed, runner.settings)
    load_adapted(model, adaptation, weights)
    return FinetunedModel(runner.task, model, runner.predictor(model))
