"""What each stage does: artifacts in, artifacts out."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from pydantic import TypeAdapter
from transformers import PreTrainedTokenizerFast

from harness import finetuning, pretraining, probing, tuning
from harness.adaptation import Finetune, Protocol
from harness.adaptation.baselines import BASELINES
from harness.adaptation.classifier import Classifier
from harness.adaptation.inputs import Encoded, encode
from harness.compute import Compute
from harness.corpora import Corpus, reading, stream
from harness.experiment import Sweep
from harness.models.backbone import read_note
from harness.pretraining.watch import KEPT, share_name
from harness.probes.probe import OBSTACLE
from harness.recipes import Pretrain
from harness.tasks import TASKS
from harness.tasks.loading import Examples, available_splits, load_examples, split_holdout
from harness.tasks.task import Split, Task
from harness.tokenizers import Tokenizer, training

Metrics = dict[str, float | None]

HOLDOUT_SEED = 0
TUNING_SEED = 1_000_000
"""Sweeps draw their fine-tuning seeds from here on, apart from the seeds that are reported."""


@dataclass(frozen=True)
class Job:
    """One stage to do."""

    spec: Mapping[str, Any]
    inputs: Mapping[str, Path]
    """Role to the folder that the parent stage left."""
    out: Path
    """Empty folder for what this stage leaves."""
    state: Path
    """Folder kept until the stage is finished, for checkpoints."""
    shared: Path
    """Folder of the store, for the database of the sweeps."""
    key: str
    compute: Compute
    progress: Callable[..., None]
    """Called with (done, total, **figures)."""


def tokenizer(job: Job) -> Metrics:
    """Learns the vocabulary from the corpus."""
    corpus = _corpus(job.spec["corpus"])
    settings = Tokenizer.model_validate(job.spec["tokenizer"])
    texts = (s for document in reading.read_documents(corpus) for s in document)
    training.train(settings, texts, job.out)
    return {}


def tokens(job: Job) -> Metrics:
    """Turns the corpus into a memory-mapped token stream, with some documents held out."""
    corpus = _corpus(job.spec["corpus"])
    return dict(
        stream.write_streams(
            reading.read_documents(corpus),
            job.inputs["tokenizer"],
            job.out,
            corpus.validation_fraction,
        )
    )


def pretrain(job: Job) -> Metrics:
    """Trains a model from its initial weights to the end of the budget."""
    return dict(
        pretraining.pretrain(
            Pretrain.model_validate(job.spec["pretrain"]),
            tokens=job.inputs["tokens"],
            tokenizer=job.inputs["tokenizer"],
            out=job.out,
            work=job.state,
            seed=job.spec["seed"],
            progress=job.progress,
            compute=job.compute,
            folders=job.inputs,
        )
    )


def probe(job: Job) -> Metrics:
    """Scores the items of a probe; leaves them, or, where the model cannot be asked, why."""
    model = job.inputs["pretrain"] / "model"
    probed = probing.probe(model, job.inputs["tokenizer"], job.spec["probe"])
    probed.items.to_parquet(job.out / "items.parquet", index=False)
    if probed.obstacle:
        (job.out / OBSTACLE).write_text(probed.obstacle)
    return dict(probed.accuracies)


def tune(job: Job) -> Metrics:
    """Searches hyperparameters on the hold-out of train; leaves best.json and trials.csv."""
    bench = _Bench(job)
    sweep = Sweep.model_validate(job.spec["sweep"])

    def objective(params: dict[str, Any], number: int) -> float | None:
        settings = bench.settings.model_copy(update=params)
        return bench.run(settings, TUNING_SEED + number).holdout_score

    trials = tuning.search(
        sweep,
        objective,
        name=job.key,
        storage=job.shared / "optuna.db",
        progress=job.progress,
    )
    best = tuning.best(trials)
    _write_json(job.out / "best.json", best.params)
    rows = [{"trial": i, "value": t.value, **t.params} for i, t in enumerate(trials)]
    pd.DataFrame(rows).to_csv(job.out / "trials.csv", index=False)
    diverged = sum(trial.value == tuning.WORST for trial in trials)
    return {"best": best.value, "trials": len(trials), "diverged_trials": diverged}


def finetune(job: Job) -> Metrics:
    """Fine-tunes with the chosen settings and scores the public dev splits; leaves predictions."""
    bench = _Bench(job)
    settings = bench.settings
    if "tune" in job.inputs:
        chosen = json.loads((job.inputs["tune"] / "best.json").read_text())
        settings = settings.model_copy(update=chosen)
    done = bench.run(settings, job.spec["seed"], progress=job.progress)
    metrics: Metrics = {
        "train_loss": done.train_loss,
        "diverged": float(done.diverged),
        "holdout": done.holdout_score,
        "truncated": bench.truncated,
        "steps": done.steps,
    }
    frames = []
    for split in available_splits(bench.task):
        examples = load_examples(bench.task, split)
        predictions = done.predict(examples)
        frames.append(_predictions(split, examples, predictions))
        if not examples.hidden:
            scores = finetuning.score(bench.task, examples.labels, predictions)
            metrics |= {f"{split.name}/{name}": value for name, value in scores.items()}
    pd.concat(frames).to_parquet(job.out / "predictions.parquet", index=False)
    _write_json(job.out / "settings.json", settings.model_dump())
    return metrics


STAGES: dict[str, Callable[[Job], Metrics]] = {
    "tokenizer": tokenizer,
    "tokens": tokens,
    "pretrain": pretrain,
    "probe": probe,
    "tune": tune,
    "finetune": finetune,
}


@dataclass(frozen=True)
class _Run:
    predict: Callable[[Examples], np.ndarray]
    holdout_score: float | None
    train_loss: float | None = None
    """None where nothing is trained step by step: a baseline."""
    steps: int = 0

    @property
    def diverged(self) -> bool:
        return self.train_loss is not None and not np.isfinite(self.train_loss)


class _Bench:
    """What tune and finetune share: the task's data, and one fine-tuning run on it."""

    def __init__(self, job: Job) -> None:
        self.task: Task = TASKS[job.spec["task"]]
        self.protocol = Protocol.model_validate(job.spec["protocol"])
        self.settings = Finetune.model_validate(job.spec["finetune"])
        self.adaptation = job.spec["adaptation"]
        self.model = _weights(job)
        self.baseline = BASELINES.get(read_note(self.model)["family"])
        self.tokenizer = _load_tokenizer(job.inputs["tokenizer"])
        self.pad = int(self.tokenizer.pad_token_id)
        train, self.holdout_examples = split_holdout(
            load_examples(self.task, "train"),
            self.protocol.holdout_fraction,
            self.protocol.max_holdout,
            HOLDOUT_SEED,
        )
        self.train_examples = train.head(self.protocol.max_train)

    @cached_property
    def train(self) -> Encoded:
        return self.encode(self.train_examples)

    @cached_property
    def holdout(self) -> Encoded:
        return self.encode(self.holdout_examples)

    @property
    def truncated(self) -> float:
        """Share of the train set that is cut; a baseline reads all."""
        return 0.0 if self.baseline else self.train.truncated

    def encode(self, examples: Examples) -> Encoded:
        both = self.protocol.both_orders and self.task.symmetric
        return encode(self.tokenizer, examples, self.protocol.max_sequence_length, both)

    def run(
        self, settings: Finetune, seed: int, progress: Callable[..., None] = lambda *_: None
    ) -> _Run:
        """Trains on train without the hold-out; a baseline heeds neither settings nor seed."""
        if self.baseline is None:
            return self._finetune(settings, seed, progress)
        predict = self.baseline(self.task, self.train_examples)
        return _Run(predict, self._holdout_score(predict(self.holdout_examples)))

    def _finetune(self, settings: Finetune, seed: int, progress: Callable[..., None]) -> _Run:
        """Keeps the weights that the protocol selects."""
        epochs: list[tuple[float, dict[str, torch.Tensor]]] = []

        def on_holdout(model: Classifier) -> float | None:
            return self._holdout_score(finetuning.predict(model, self.holdout, self.pad))

        def keep(model: Classifier, epoch: int) -> None:
            weights = {name: value.clone() for name, value in model.state_dict().items()}
            score = on_holdout(model)
            epochs.append((tuning.WORST if score is None else score, weights))

        run = finetuning.finetune(
            self.model,
            self.train,
            self.task,
            self.protocol,
            settings,
            pad_token_id=self.pad,
            seed=seed,
            adaptation=self.adaptation,
            progress=progress,
            on_epoch=keep if self.protocol.selection == "best" else None,
        )
        model = run.module.model
        if epochs:
            model.load_state_dict(max(epochs, key=lambda epoch: epoch[0])[1])

        def predict(examples: Examples) -> np.ndarray:
            return finetuning.predict(model, self.encode(examples), self.pad)

        return _Run(predict, None if run.diverged else on_holdout(model), run.train_loss, run.steps)

    def _holdout_score(self, predictions: np.ndarray) -> float | None:
        scores = finetuning.score(self.task, self.holdout_examples.labels, predictions)
        return scores[self.task.metrics[0]]


def _weights(job: Job) -> Path:
    """Folder of the pretrained weights: those of the end, or after a share of the updates."""
    folder, share = job.inputs["pretrain"], job.spec.get("checkpoint")
    return folder / "model" if share is None else folder / KEPT / share_name(share)


@cache
def _load_tokenizer(folder: Path) -> PreTrainedTokenizerFast:
    return PreTrainedTokenizerFast.from_pretrained(folder)


def _corpus(spec: Mapping[str, Any]) -> Corpus:
    corpus: Corpus = TypeAdapter(Corpus).validate_python(spec)
    return corpus


def _predictions(split: Split, examples: Examples, predictions: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "split": split.name,
            "index": np.arange(len(predictions)),
            "label": examples.labels.astype(float),
            "prediction": predictions,
        }
    )


def _write_json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, indent=2, sort_keys=True) + "\n")
