"""One task on one pretrained model, for the search of settings and the reported runs."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path

import numpy as np
import pandas as pd

from harness.core.names import file_name
from harness.data.tokenizers.loading import load_tokenizer
from harness.execution.stages.context import StageContext
from harness.execution.stages.planned_data import read_train
from harness.finetuning import baselines
from harness.finetuning.adaptation import read_adaptation
from harness.finetuning.augmentation import outputs_folder, taught_examples
from harness.finetuning.baselines.predictor import Predictor
from harness.finetuning.best_epoch import BestEpoch
from harness.finetuning.costs import Costs
from harness.finetuning.diagnostics import AFTER_TRAINING, CHANGED_WORDS, TRAIN_SCORES
from harness.finetuning.diagnostics.changed_words import changed_words
from harness.finetuning.diagnostics.recorder import MAX_EXAMPLES, Recorder
from harness.finetuning.diagnostics.train_scores import train_scores
from harness.finetuning.distillation import SoftTargetLoss
from harness.finetuning.encoded_cache import encoded
from harness.finetuning.heads import task_head
from harness.finetuning.heads.head import TaskHead
from harness.finetuning.heads.siamese import SIAMESE
from harness.finetuning.in_context import answered
from harness.finetuning.inputs import Encoded
from harness.finetuning.multitask import MultitaskModel, TaskData, load_head
from harness.finetuning.prompt_compatibility import is_written
from harness.finetuning.prompting import prompted
from harness.finetuning.protocol import Finetune, Protocol
from harness.finetuning.run import finetune, outputs, predict, prepared_model
from harness.finetuning.search.trials import WORST
from harness.finetuning.soft_targets import SoftTargets, read_soft_targets
from harness.finetuning.task_model import TaskModel
from harness.finetuning.teacher_layers import read_network
from harness.models.checkpoints.files import read_metadata
from harness.pretraining.callbacks import CHECKPOINTS, fraction_name
from harness.tasks.examples import Examples
from harness.tasks.scores import score
from harness.tasks.task import Task

SETTINGS = "settings.json"
"""File of the hyperparameters and the adaptation of a run."""
HEADS = "heads"
"""Folder of the task heads, next to the network that they share."""


@dataclass(frozen=True)
class TaskRun:
    """One run on a task."""

    predict: Predictor
    holdout_score: float | None
    train_loss: float | None = None
    """Null if nothing is trained step by step."""
    steps: int = 0
    costs: Costs | None = None
    model: TaskModel | None = None
    """Null if nothing is trained."""
    diagnostics: pd.DataFrame | None = None
    """`harness.finetuning.diagnostics.DIAGNOSTICS_COLUMNS`, if requested."""

    @property
    def diverged(self) -> bool:
        """Whether the training loss is not finite."""
        return self.train_loss is not None and not np.isfinite(self.train_loss)


class TaskRunner:
    """The data of a task, and runs on it that start from one pretrained model."""

    def __init__(self, context: StageContext) -> None:
        spec = context.spec
        self.context = context
        self.task = Task.model_validate({"name": spec["task"], **spec["content"]})
        self.protocol = Protocol.model_validate({**spec["protocol"], "index": spec.get("index")})
        self.settings = Finetune.model_validate(spec["finetune"])
        self.adaptation = read_adaptation(spec["adaptation"])
        self.model = _model_folder(context)
        metadata = read_metadata(self.model)
        self.family = metadata["family"]
        if spec.get("own_length") and (most := metadata.get("embedding", {}).get("max_length")):
            self.protocol = self.protocol.model_copy(update={"max_sequence_length": most})
        has_head = "head" in context.inputs  # trained by a `train_tasks` stage, scored here
        trainable = not has_head and self.family not in baselines.MAKERS and self.adaptation.trains
        self.trained = bool(self.task.train) and trainable

    @cached_property
    def head(self) -> TaskHead:
        """The task head of the protocol."""
        tokenizer = _load_tokenizer(self.context.inputs["tokenizer"])
        if siamese := self.context.spec.get("siamese"):
            return SIAMESE[siamese](self.task, self.protocol, tokenizer)
        return task_head(self.task, self.protocol, tokenizer)

    @cached_property
    def _split(self) -> tuple[Examples, Examples]:
        spec = self.context.spec
        return read_train(self.task, spec["fingerprint"], self.protocol.model_dump())

    @cached_property
    def train_examples(self) -> Examples | None:
        """The train set without its hold-out, up to the limit; null for a task without one."""
        limit = self.protocol.max_train_examples
        return self._split[0].head(limit) if self.task.train else None

    @property
    def training_data(self) -> TaskData:
        """The encoded train set with the task's head, and the hold-out if weights of auxiliary
        objectives are learned from it."""
        learned = self.settings.auxiliary and self.settings.auxiliary.is_learned
        holdout = self.encode(self._split[1]) if learned else None
        return TaskData(self.head, self.encode(self._taught_examples), self._soft_targets, holdout)

    @cached_property
    def _taught_examples(self) -> Examples | None:
        """The train set, with the copies that a teacher made of it, if any."""
        given = self.context.spec.get("distillation")
        return taught_examples(given, self.context.inputs, self.train_examples)

    @cached_property
    def _soft_targets(self) -> SoftTargets | None:
        """The outputs of a teacher on the train set; null without one."""
        given = self.context.spec.get("distillation")
        if not given:
            return None
        assert self._taught_examples is not None
        shape = len(self._taught_examples), self.head.num_outputs
        settings, folder = SoftTargetLoss.model_validate(given), self.context.inputs["teacher"]
        targets = read_soft_targets(outputs_folder(folder, settings.augment), settings, shape)
        if not settings.layers:
            return targets
        return replace(targets, network=read_network(folder, self.head.tokenizer))

    def outputs(self, model: TaskModel, examples: Examples) -> np.ndarray:
        """[num_examples, C] outputs of a model with this runner's head."""
        precision = self.context.compute.precision
        return outputs(model, self.head, self.encode(examples), precision)

    @property
    def truncated(self) -> float:
        """Share of truncated training examples; 0 if nothing is trained."""
        return self.training_data.train.truncated if self.trained else 0.0

    def encode(self, examples: Examples | None) -> Encoded:
        """The examples as token ids, cached on disk."""
        assert examples is not None
        tokenizer = self.context.inputs["tokenizer"]
        return encoded(self.head, examples, tokenizer, self.context.shared)

    def run(
        self,
        seed: int,
        progress: Callable[..., None] = lambda *_: None,
        on_epoch: Callable[[int, float | None], None] | None = None,
    ) -> TaskRun:
        """Trains on the train set without its hold-out, if the model is trained at all.

        Args:
            on_epoch: called after each epoch with its number, from 1, and hold-out score.
        """
        if self.trained:
            return self._finetune(seed, progress, on_epoch)
        predict = self._untrained(seed)
        return TaskRun(predict, self.holdout_score(predict) if self.task.train else None)

    def _untrained(self, seed: int) -> Predictor:
        """A baseline, a prompted model, or a model whose head was trained by another stage."""
        if self.family in baselines.MAKERS:
            return baselines.make(self.family, self.task, self.train_examples)
        inputs = self.context.inputs
        if not self.adaptation.trains:
            given = self.model, inputs["tokenizer"], self.task, self.protocol
            answer = answered if is_written(self.task, self.protocol) else prompted
            return answer(*given, self.train_examples, seed, self.context.compute)
        settings = self.settings.model_copy(update={"reinit_layers": None})  # of training alone
        model = prepared_model(self.model, self.head, self.adaptation, seed, settings)
        if "head" in inputs:
            load_head(model, _stored_head(inputs["head"], self.task.name))
        return self.predictor(model)

    def _finetune(
        self,
        seed: int,
        progress: Callable[..., None],
        on_epoch: Callable[[int, float | None], None] | None,
    ) -> TaskRun:
        """Trains, and restores the weights that the protocol selects."""
        best, select = BestEpoch(), self.protocol.selection == "best"
        each_epoch = select or on_epoch or self.context.compute.score_every_epoch

        def after_epoch(model: MultitaskModel, epoch: int) -> dict[str, float]:
            scores = self.epoch_scores(model, epoch)
            score = scores.get(self.task.metrics[0])
            if select:
                best.offer(WORST if score is None else score, model.part(0))
            if on_epoch:
                on_epoch(epoch, score)
            return scores

        recorder = self._recorder()
        run = finetune(
            self.model,
            [self.training_data],
            self.settings,
            seed=seed,
            initial_seed=self.context.spec.get("initial_seed"),
            adaptation=self.adaptation,
            progress=progress,
            on_epoch=after_epoch if each_epoch or self.settings.holdout_decay else None,
            callbacks=[recorder] if recorder else (),
            compute=self.context.compute,
            loggers=self.context.loggers(),
        )
        model = run.model.part(0)
        best.restore(model)
        predict = self.predictor(model)
        holdout = None if run.diverged else self.holdout_score(predict)
        found = self._diagnostics(recorder, model, predict)
        return TaskRun(predict, holdout, run.losses[0], run.steps[0], run.costs, model, found)

    @property
    def _requested(self) -> set[str]:
        """Names of the diagnostics."""
        return {*self.context.spec.get("diagnostics", ())}

    def _recorder(self) -> Recorder | None:
        recorded, examples = self._requested - {*AFTER_TRAINING}, self._split[1].head(MAX_EXAMPLES)
        return Recorder(recorded, self.head, self.encode(examples)) if recorded else None

    def _diagnostics(
        self, recorder: Recorder | None, model: TaskModel, predict: Predictor
    ) -> pd.DataFrame | None:
        """The diagnostics of a trained model; null if none is requested."""
        frames = [recorder.frame(model)] if recorder else []
        if TRAIN_SCORES in self._requested and self.train_examples:
            frames.append(train_scores(self.task, self.train_examples, predict))
        if CHANGED_WORDS in self._requested:
            frames.append(changed_words(model, self.head, self._split[1].head(MAX_EXAMPLES)))
        return pd.concat(frames, ignore_index=True) if frames else None

    def predictor(self, model: TaskModel) -> Predictor:
        """Examples to predictions of a model with this runner's head."""
        precision = self.context.compute.precision
        return lambda some: predict(model, self.head, self.encode(some), some, precision)

    def epoch_scores(self, model: MultitaskModel, epoch: int) -> dict[str, float]:
        """Metric to score on the hold-out after any epoch, for all that are defined."""
        scores = self._holdout_scores(self.predictor(model.part(0)))
        return {name: value for name, value in scores.items() if value is not None}

    def holdout_score(self, predict: Predictor) -> float | None:
        """Main score of a predictor on the hold-out; null if it is undefined."""
        return self._holdout_scores(predict)[self.task.metrics[0]]

    def _holdout_scores(self, predict: Predictor) -> dict[str, float | None]:
        holdout = self._split[1]
        return score(self.task, holdout, predict(holdout))


def head_file(folder: Path, task: str) -> Path:
    """The file of a task's head among those of a stage that trains several tasks."""
    return folder / HEADS / f"{file_name(task)}.safetensors"


def _stored_head(folder: Path, task: str) -> Path:
    """As `head_file`; in older stores, files have the names of the tasks."""
    file = head_file(folder, task)
    return file if file.exists() else folder / HEADS / f"{task}.safetensors"


def _model_folder(context: StageContext) -> Path:
    """Folder of the initial weights: after training on other tasks, or as pretrained."""
    if "body" in context.inputs:
        return context.inputs["body"] / "model"
    return network_folder(context)


def network_folder(context: StageContext) -> Path:
    """Folder of a pretrained network, at the end or after a fraction of the updates."""
    folder, fraction = context.inputs["pretrain"], context.spec.get("pretrain_fraction")
    if fraction is None:
        return folder / "model"
    return folder / CHECKPOINTS / fraction_name(fraction)


_load_tokenizer = cache(load_tokenizer)
