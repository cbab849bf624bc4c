"""What each stage does: artifacts in, artifacts out."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import torch
from pydantic import TypeAdapter
from transformers import PreTrainedTokenizerFast

from harness import finetuning, pretraining, probing, tuning
from harness.adaptation import Finetune, Protocol
from harness.adaptation.baselines import BASELINES, Predictor
from harness.adaptation.caching import encoded
from harness.adaptation.forms import Form, form_of
from harness.adaptation.inputs import Encoded
from harness.adaptation.model import TaskModel
from harness.adaptation.prompting import prompted
from harness.compute import Compute
from harness.corpora import Corpus, reading, stream
from harness.experiment import Sweep
from harness.models import checkpoint_files, importing
from harness.models.backbone import read_note
from harness.pretraining.watch import KEPT, share_name
from harness.probes.probe import OBSTACLE
from harness.recipes import Pretrain
from harness.tasks import scoring
from harness.tasks.loading import Examples, available_splits, load_examples, split_holdout
from harness.tasks.scoring import predictions_frame, save_counts, score
from harness.tasks.task import Split, Task
from harness.tokenizers import Tokenizer, adopting, training

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
    """Learns the vocabulary from the corpus, or takes that of a checkpoint."""
    if "checkpoint" in job.spec:
        adopting.adopt(_checkpoint(job), job.out)
        return {}
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
    """Trains a model from its initial weights to the end of the budget, or imports a checkpoint."""
    if "checkpoint" in job.spec:
        backbone = importing.adopt(_checkpoint(job))
        importing.check_tokens(backbone, job.inputs["tokenizer"])
        backbone.save(job.out / "model")
        return {}
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
    frames, counts = [], {}
    for split in available_splits(bench.task, submission=job.spec.get("submission", False)):
        examples = read_examples(bench.task, split, job.spec["fingerprint"])
        predictions = done.predict(examples)
        frames.append(predictions_frame(split.name, examples, predictions))
        if not examples.hidden:
            scores = score(bench.task, examples, predictions)
            metrics |= {f"{split.name}/{name}": value for name, value in scores.items()}
            # An undefined score has no use for counts, which may be huge (a group an example).
            defined = [name for name, value in scores.items() if value is not None]
            counts[split.name] = scoring.counts(bench.task, examples, predictions, defined)
    pd.concat(frames).to_parquet(job.out / "predictions.parquet", index=False)
    save_counts(job.out / "counts.npz", counts)
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
    predict: Predictor
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
        self.job = job
        self.task = Task.model_validate({"name": job.spec["task"], **job.spec["content"]})
        self.protocol = Protocol.model_validate(job.spec["protocol"])
        self.settings = Finetune.model_validate(job.spec["finetune"])
        self.adaptation = job.spec["adaptation"]
        self.model = _weights(job)
        self.baseline = BASELINES.get(read_note(self.model)["family"])
        self.trained = bool(self.task.train) and not self.baseline and self.adaptation != "prompt"

    @cached_property
    def form(self) -> Form:
        return form_of(self.task, self.protocol, _load_tokenizer(self.job.inputs["tokenizer"]))

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
        self, settings: Finetune, seed: int, progress: Callable[..., None] = lambda *_: None
    ) -> _Run:
        """Trains on train without the hold-out, if there is anything to train."""
        if self.trained:
            return self._finetune(settings, seed, progress)
        predict = self._untrained(seed)
        return _Run(predict, self._holdout_score(predict) if self.task.train else None)

    def _untrained(self, seed: int) -> Predictor:
        """A baseline heeds neither settings nor seed; a prompted model draws its examples by it."""
        if self.baseline:
            return self.baseline(self.task, self.train_examples)
        if self.adaptation == "prompt":
            tokenizer = self.job.inputs["tokenizer"]
            return prompted(
                self.model, tokenizer, self.task, self.protocol, self.train_examples, seed
            )
        model = finetuning.prepared_model(
            self.model, self.form, self.adaptation, seed, self.settings
        )
        return self._predictor(model)

    def _finetune(self, settings: Finetune, seed: int, progress: Callable[..., None]) -> _Run:
        """Keeps the weights that the protocol selects."""
        epochs: list[tuple[float, dict[str, torch.Tensor]]] = []

        def keep(model: TaskModel, epoch: int) -> None:
            weights = {name: value.clone() for name, value in model.state_dict().items()}
            score = self._holdout_score(self._predictor(model))
            epochs.append((tuning.WORST if score is None else score, weights))

        run = finetuning.finetune(
            self.model,
            self.encode(self.train_examples),
            self.form,
            settings,
            seed=seed,
            adaptation=self.adaptation,
            progress=progress,
            on_epoch=keep if self.protocol.selection == "best" else None,
        )
        if epochs:
            run.model.load_state_dict(max(epochs, key=lambda epoch: epoch[0])[1])
        predict = self._predictor(run.model)
        holdout = None if run.diverged else self._holdout_score(predict)
        return _Run(predict, holdout, run.train_loss, run.steps)

    def _predictor(self, model: TaskModel) -> Predictor:
        return lambda examples: finetuning.predict(
            model, self.form, self.encode(examples), examples
        )

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


def _checkpoint(job: Job) -> Path:
    """Folder of someone else's checkpoint, downloaded where it must be."""
    spec = job.spec["checkpoint"]
    return checkpoint_files.fetch(spec["name"], spec["revision"])


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


def _write_json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, indent=2, sort_keys=True) + "\n")
