"""What the search of settings and fine-tuning share: the data of a task, and one run on it."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
import torch
from transformers import PreTrainedTokenizerFast

from harness.execution.stages.job import Job
from harness.finetuning import Finetune, Protocol, module
from harness.finetuning.adaptation import read_adaptation
from harness.finetuning.baselines import BASELINES
from harness.finetuning.baselines.predictor import Predictor
from harness.finetuning.costs import Costs
from harness.finetuning.diagnostics.recorder import MAX_EXAMPLES, Recorder
from harness.finetuning.encoded_cache import encoded
from harness.finetuning.heads import form_of
from harness.finetuning.heads.head import Form
from harness.finetuning.heads.siamese import SIAMESE
from harness.finetuning.inputs import Encoded
from harness.finetuning.joint_model import load_head
from harness.finetuning.prompting import prompted
from harness.finetuning.search import optuna_search
from harness.finetuning.task_model import TaskModel
from harness.models.backbone import read_note
from harness.pretraining.callbacks import KEPT, share_name
from harness.tasks.examples import Examples, split_holdout
from harness.tasks.load_examples import load_examples
from harness.tasks.scores import score
from harness.tasks.task import Split, Task

HOLDOUT_SEED = 0
HEADS = "heads"
"""Folder of what answers each task, beside a network that has learned several."""


@dataclass(frozen=True)
class BenchRun:
    predict: Predictor
    holdout_score: float | None
    train_loss: float | None = None
    """None where nothing is trained step by step: a baseline."""
    steps: int = 0
    costs: Costs | None = None
    model: TaskModel | None = None
    """Trained; None where nothing is."""
    records: pd.DataFrame | None = None
    """What was asked for of the run (`harness.finetuning.diagnostics`)."""

    @property
    def diverged(self) -> bool:
        return self.train_loss is not None and not np.isfinite(self.train_loss)


class Bench:
    """What tune and finetune share: the task's data, and one fine-tuning run on it."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.task = Task.model_validate({"name": job.spec["task"], **job.spec["content"]})
        self.protocol = Protocol.model_validate(job.spec["protocol"])
        self.settings = Finetune.model_validate(job.spec["finetune"])
        self.adaptation = read_adaptation(job.spec["adaptation"])
        self.model = _weights(job)
        self.baseline = BASELINES.get(read_note(self.model)["family"])
        learned = "head" in job.inputs  # in a stage of its own: here it is only scored
        fresh = not learned and not self.baseline and self.adaptation.trains
        self.trained = bool(self.task.train) and fresh

    @cached_property
    def form(self) -> Form:
        tokenizer = _load_tokenizer(self.job.inputs["tokenizer"])
        if siamese := self.job.spec.get("siamese"):
            return SIAMESE[siamese](self.task, self.protocol, tokenizer)
        return form_of(self.task, self.protocol, tokenizer)

    @cached_property
    def _split(self) -> tuple[Examples, Examples]:
        return split_holdout(
            read_examples(self.task, "train", self.job.spec["fingerprint"]),
            self.protocol.holdout_fraction,
            self.protocol.max_holdout,
            HOLDOUT_SEED,
        )

    @cached_property
    def train_examples(self) -> Examples | None:
        return self._split[0].head(self.protocol.max_train) if self.task.train else None

    @property
    def truncated(self) -> float:
        """Share of the train set that is cut; 0 where nothing is trained on."""
        return self.encode(self.train_examples).truncated if self.trained else 0.0

    def encode(self, examples: Examples | None) -> Encoded:
        assert examples is not None
        return encoded(self.form, examples, self.job.inputs["tokenizer"], self.job.shared)

    def run(
        self,
        settings: Finetune,
        seed: int,
        progress: Callable[..., None] = lambda *_: None,
        on_epoch: Callable[[int, float | None], None] | None = None,
    ) -> BenchRun:
        """Trains on train without the hold-out, if there is anything to train; `on_epoch` is told
        each epoch, from 1, and its hold-out score."""
        if self.trained:
            return self._finetune(settings, seed, progress, on_epoch)
        predict = self._untrained(seed)
        return BenchRun(predict, self._holdout_score(predict) if self.task.train else None)

    def _untrained(self, seed: int) -> Predictor:
        """A baseline heeds neither settings nor seed; a prompted model draws its examples by it."""
        if self.baseline:
            return self.baseline(self.task, self.train_examples)
        if not self.adaptation.trains:
            tokenizer = self.job.inputs["tokenizer"]
            return prompted(
                self.model, tokenizer, self.task, self.protocol, self.train_examples, seed
            )
        model = module.prepared_model(self.model, self.form, self.adaptation, seed, self.settings)
        if "head" in self.job.inputs:
            name = f"{self.task.name}.safetensors"
            load_head(model, self.job.inputs["head"] / HEADS / name)
        return self._predictor(model)

    def _finetune(
        self,
        settings: Finetune,
        seed: int,
        progress: Callable[..., None],
        on_epoch: Callable[[int, float | None], None] | None,
    ) -> BenchRun:
        """Keeps the weights that the protocol selects."""
        epochs: list[tuple[float, dict[str, torch.Tensor]]] = []
        select = self.protocol.selection == "best"

        def after_epoch(model: TaskModel, epoch: int) -> None:
            score = self._holdout_score(self._predictor(model))
            if select:
                weights = {name: value.clone() for name, value in model.state_dict().items()}
                epochs.append((optuna_search.WORST if score is None else score, weights))
            if on_epoch:
                on_epoch(epoch, score)

        recorder = self._recorder()
        run = module.finetune(
            self.model,
            self.encode(self.train_examples),
            self.form,
            settings,
            seed=seed,
            adaptation=self.adaptation,
            progress=progress,
            on_epoch=after_epoch if select or on_epoch else None,
            watching=[recorder] if recorder else (),
        )
        if epochs:
            run.model.load_state_dict(max(epochs, key=lambda epoch: epoch[0])[1])
        predict = self._predictor(run.model)
        holdout = None if run.diverged else self._holdout_score(predict)
        records = recorder.frame(run.model) if recorder else None
        return BenchRun(predict, holdout, run.train_loss, run.steps, run.costs, run.model, records)

    def _recorder(self) -> Recorder | None:
        asked = self.job.spec.get("record")
        if not asked:
            return None
        return Recorder(asked, self.form, self.encode(self._split[1].head(MAX_EXAMPLES)))

    def _predictor(self, model: TaskModel) -> Predictor:
        return lambda examples: module.predict(model, self.form, self.encode(examples), examples)

    def _holdout_score(self, predict: Predictor) -> float | None:
        holdout = self._split[1]
        return score(self.task, holdout, predict(holdout))[self.task.metrics[0]]


@lru_cache(maxsize=8)
def _read(content: str, split: str, fingerprint: str) -> Examples:
    task = Task.model_validate_json(content)
    return load_examples(task, "train" if split == "train" else Split.model_validate_json(split))


def read_examples(task: Task, split: Split | Literal["train"], fingerprint: str) -> Examples:
    """The examples; those read last are kept, for many stages ask for the same ones."""
    name = split if isinstance(split, str) else split.model_dump_json()
    return _read(task.model_dump_json(), name, fingerprint)


def _weights(job: Job) -> Path:
    """Folder of the weights to begin with: those that have learned other tasks, else pretrained
    ones, of the end or after a share of the updates."""
    if "body" in job.inputs:
        return job.inputs["body"] / "model"
    folder, share = job.inputs["pretrain"], job.spec.get("checkpoint")
    return folder / "model" if share is None else folder / KEPT / share_name(share)


@cache
def _load_tokenizer(folder: Path) -> PreTrainedTokenizerFast:
    return PreTrainedTokenizerFast.from_pretrained(folder)
