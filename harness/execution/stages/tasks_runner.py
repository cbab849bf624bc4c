"""Several tasks on one pretrained model, for their training and the search of its settings."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from harness.execution.stages.context import StageContext
from harness.execution.stages.task_runner import TaskRunner
from harness.finetuning.module import OnEpoch
from harness.finetuning.multitask import MultitaskModel, TaskData
from harness.finetuning.prompt_data import prompt_data
from harness.finetuning.protocol import Finetune
from harness.finetuning.run import Finetuned, finetune
from harness.finetuning.search.trials import WORST
from harness.finetuning.task_chain import Multitask
from harness.tasks.examples import Examples, mixed
from harness.tasks.task import Task


@dataclass(frozen=True)
class TasksRun:
    """One run on several tasks, scored on their hold-outs."""

    holdout_score: float | None
    """Mean of the main scores of the tasks; null if the run diverged."""
    diverged: bool


class TasksRunner:
    """The data of several tasks, and runs on them that start from one pretrained model. Mixed tasks
    are one. With `prompts`, the tasks are answered in their prompts, without heads."""

    def __init__(self, context: StageContext) -> None:
        specs = [{**context.spec, **task, "adaptation": "full"} for task in context.spec["tasks"]]
        self.context = context
        self.runners = [TaskRunner(replace(context, spec=spec)) for spec in specs]
        names = [runner.task.name for runner in self.runners]
        self.names = [" + ".join(names)] if context.spec.get("mixed") else names
        """Of the tasks that have a head."""

    @property
    def settings(self) -> Finetune:
        """Those of the run."""
        return self.runners[0].settings

    @cached_property
    def training_data(self) -> list[TaskData]:
        """The encoded train sets, in the order of `names`."""
        if self.context.spec.get("mixed"):
            return [self._mixed]
        if prompts := self.context.spec.get("prompts"):
            return self._prompted(prompts)
        return [runner.training_data for runner in self.runners]

    def train(
        self, seed: int, progress: Callable[..., None], on_epoch: OnEpoch | None = None
    ) -> Finetuned:
        """Trains on the train sets without their hold-outs.

        Args:
            on_epoch: called after each epoch with the model and the epoch, from 1.
        """
        return finetune(
            self.runners[0].model,
            self.training_data,
            self.settings,
            mixing=Multitask.model_validate(self.context.spec["mixing"] or {}),
            seed=seed,
            progress=progress,
            on_epoch=on_epoch,
            compute=self.context.compute,
            loggers=self.context.loggers(),
        )

    def run(
        self,
        seed: int,
        progress: Callable[..., None] = lambda *_: None,
        on_epoch: Callable[[int, float | None], None] | None = None,
    ) -> TasksRun:
        """As `train`, with scores on the hold-outs.

        Args:
            on_epoch: called after each epoch with its number, from 1, and hold-out score.
        """

        def after_epoch(model: MultitaskModel, epoch: int) -> dict[str, float]:
            score = self._holdout_score(model)
            on_epoch and on_epoch(epoch, score)
            return {"mean": score}

        trained = self.train(seed, progress, after_epoch if on_epoch else None)
        score = None if trained.diverged else self._holdout_score(trained.model)
        return TasksRun(score, trained.diverged)

    def _holdout_score(self, model: MultitaskModel) -> float:
        """The mean over tasks; an undefined score, as of a constant, counts as the worst."""
        parts = enumerate(self.runners)
        scores = [runner.holdout_score(runner.predictor(model.part(i))) for i, runner in parts]
        return float(np.mean([WORST if score is None else score for score in scores]))

    @property
    def _parts(self) -> list[tuple[Task, Examples]]:
        """The tasks with their train sets."""
        parts = []
        for runner in self.runners:
            assert runner.train_examples is not None
            parts.append((runner.task, runner.train_examples))
        return parts

    @property
    def _mixed(self) -> TaskData:
        """The train sets of all tasks, as one of the first."""
        first = self.runners[0]
        examples = mixed([(examples, task.labels) for task, examples in self._parts])
        return TaskData(first.head, first.encode(examples))

    def _prompted(self, prompts: Mapping[str, Any]) -> list[TaskData]:
        """The train sets as prompts with answers."""
        first, tokenizer = self.runners[0], self.context.inputs["tokenizer"]
        precision = self.context.compute.precision
        return prompt_data(first.model, tokenizer, self._parts, first.protocol, prompts, precision)
