"""A pretraining run from its initial weights, or its last checkpoint, to the end of its budget."""

import csv
import json
import math
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from time import monotonic
from typing import Any, cast

import pytorch_lightning as pl
import torch
from torch.utils.data import DataLoader, Dataset

from harness.core.compute import DEFAULT_COMPUTE, Compute
from harness.core.files import write_atomically
from harness.data.corpora.token_stream import TokenStream
from harness.pretraining.callbacks import CHECKPOINTS, Watch
from harness.pretraining.learners.factory import make_learner
from harness.pretraining.module import MODULES, PretrainingModule
from harness.pretraining.objectives import held_out
from harness.pretraining.objectives.batches import BatchMaker
from harness.pretraining.objectives.loader import Feed, Step, TensorBatch, to_step, to_tensors
from harness.pretraining.objectives.vocabulary import Vocabulary
from harness.pretraining.recipes.pretrain import Pretrain
from harness.pretraining.steps import planned_steps
from harness.pretraining.trainer import make_trainer


def pretrain(
    spec: Pretrain,
    tokens: Path,
    tokenizer: Path,
    out: Path,
    work: Path,
    seed: int,
    *,
    progress: Callable[..., None] = lambda done, total, **figures: None,
    compute: Compute = DEFAULT_COMPUTE,
    folders: Mapping[str, Path] | None = None,
) -> dict[str, float]:
    """Trains a model from its initial weights, or the checkpoint in `work`, to its budget's end.

    Leaves the model in Hugging Face format in `out`/model, `out`/curve.csv, and the weights after
    the shares of the updates that `spec.checkpoint_fractions` asks for in
    `out`/checkpoints/<share>.

    Args:
        tokens: folder with the streams `train` and `validation`.
        tokenizer: folder of the tokenizer that made them; it decides the size of the vocabulary.
        progress: called with (done, total, **figures) after each update.
        folders: what the runs left that this one builds on, as `init_from` and `teacher`.

    Returns:
        steps, tokens, seconds, validation_loss, validation_accuracy; the same of other losses by
        their names, as validation_pair_accuracy; validation_bits_per_byte of models that tell every
        token after those before it; train_loss (the last of the curve) and tokens_per_second where
        anything was trained.

    Raises:
        ValueError: the text is too small for a batch, or for the pairs asked for.
        FloatingPointError: the loss is not finite.
    """
    vocabulary = Vocabulary.load(tokenizer)
    micro_batch_tokens = compute.micro_batch_tokens or default_micro_batch_tokens()
    folders = folders or {}

    def trial(num_steps: int) -> list[float]:
        copy = spec.model_copy(update={"checkpoint_fractions": ()})
        module = make_module(copy, vocabulary, seed, folders, num_steps)
        feed = make_feed(module, tokens / "train", vocabulary, micro_batch_tokens)
        return timed_steps(module, feed, work, compute)

    num_steps = settled_steps(spec, work, trial) if spec.budget.seconds else planned_steps(spec)
    while True:
        module = make_module(spec, vocabulary, seed, folders, num_steps)
        feed = make_feed(module, tokens / "train", vocabulary, micro_batch_tokens)
        try:
            trainer = fit(module, feed, work / "last.ckpt", compute, progress)
            break
        except torch.OutOfMemoryError:
            micro_batch_tokens //= 2
            if micro_batch_tokens < min(phase.sequence_length for phase in spec.phases):
                raise
    start = decoder_start(module, vocabulary)
    validation = validation_loaders(spec, tokens / "validation", vocabulary, start)
    trainer.validate(module, validation, verbose=False)
    _leave(module, work, out)
    return module.figures()


def _leave(module: PretrainingModule, work: Path, out: Path) -> None:
    """Writes the model, the weights kept along the way and the curve to `out`."""
    (out / "model").mkdir(exist_ok=True)
    module.learner.save(out / "model")
    if (work / CHECKPOINTS).exists():
        shutil.copytree(work / CHECKPOINTS, out / CHECKPOINTS, dirs_exist_ok=True)
    _write_curve(out / "curve.csv", module)


TIMED_STEPS = 40
"""Updates that are timed where the budget is time; the first half of them warms up."""


def settled_steps(spec: Pretrain, work: Path, trial: Callable[[int], list[float]]) -> int:
    """Updates that a budget in seconds pays for on this machine; a resumed run keeps them.

    Args:
        trial: trains for some updates on a copy and returns the time at the end of each.
    """
    note = work / "steps.json"
    if note.exists():
        return int(json.loads(note.read_text())["steps"])
    ends = trial(TIMED_STEPS)
    half = TIMED_STEPS // 2
    rate = (len(ends) - half) / (ends[-1] - ends[half - 1])
    steps = planned_steps(spec, rate)
    write_atomically(note, json.dumps({"steps": steps, "steps_per_second": rate}))
    return steps


def timed_steps(module: PretrainingModule, feed: Feed, work: Path, compute: Compute) -> list[float]:
    """Trains to the end without a checkpoint; the time at the end of each update."""
    ends: list[float] = []
    never = compute.model_copy(update={"checkpoint_interval_seconds": math.inf})
    fit(module, feed, work / "none", never, lambda done, total, **figures: ends.append(monotonic()))
    return ends


def default_micro_batch_tokens() -> int:
    """Positions that go through the model at once if nothing is said."""
    return 65_536 if torch.cuda.is_available() else 8_192


def fit(
    module: PretrainingModule,
    feed: Feed,
    checkpoint: Path,
    compute: Compute,
    progress: Callable[..., None] = lambda done, total, **figures: None,
) -> pl.Trainer:
    """Trains `module` to its last step, from `checkpoint` if it is there; returns the trainer."""
    if compute.compile:
        module.learner.compile(dynamic=True)
    trainer = make_trainer(
        Watch(checkpoint, compute, progress),
        compute=compute,
        precision=compute.precision,
        max_steps=module.num_steps,
        max_epochs=-1,
    )
    feed.first = lambda: trainer.global_step
    if module.num_steps:
        resume = checkpoint if checkpoint.exists() else None
        loader = DataLoader(feed, batch_size=None)
        trainer.fit(module, loader, ckpt_path=resume, weights_only=True)
    return trainer


def make_module(
    spec: Pretrain,
    vocabulary: Vocabulary,
    seed: int,
    folders: Mapping[str, Path],
    num_steps: int,
) -> PretrainingModule:
    """A learner with its initial weights, to be trained for `num_steps` updates."""
    module = MODULES[spec.module] if spec.module else PretrainingModule
    return module(make_learner(spec, vocabulary, seed, folders), spec, num_steps, seed)


def make_feed(
    module: PretrainingModule, stream: Path, vocabulary: Vocabulary, micro_batch_tokens: int
) -> Feed:
    spec = module.spec
    maker = BatchMaker(
        TokenStream.open(stream),
        vocabulary,
        spec.objective,
        spec.packing,
        spec.phases,
        spec.batch_size,
        module.seed,
        module.num_steps,
        decoder_start(module, vocabulary),
    )

    def make(step: int) -> Step:
        return to_step(maker.batch(step), micro_batch_tokens, maker.component(step))

    return Feed(make, module.num_steps)


def decoder_start(module: PretrainingModule, vocabulary: Vocabulary) -> int:
    """Token that a decoder's input starts with."""
    start = getattr(module.learner.backbone.network.config, "decoder_start_token_id", None)
    return vocabulary.pad if start is None else int(start)


def validation_loaders(
    spec: Pretrain, folder: Path, vocabulary: Vocabulary, start: int
) -> list[DataLoader[TensorBatch]]:
    """The batches of the output, and those of pairs where there is a pair loss."""
    stream = TokenStream.open(folder)
    objective = spec.objectives[-1]
    longest = max(phase.sequence_length for phase in spec.phases)
    sets = [held_out.held_out_batches(stream, vocabulary, objective, longest, start)]
    if objective.sentence_pair != "none":
        length = spec.phases[-1].sequence_length
        sets.append(held_out.pair_batches(stream, vocabulary, objective, spec.packing, length))
    collate = cast("Callable[[list[Any]], TensorBatch]", to_tensors)  # of one batch, not a list
    # A list has all that a map-style data set needs, but for the type.
    return [
        DataLoader(cast("Dataset[Any]", batches), batch_size=None, collate_fn=collate)
        for batches in sets
    ]


def _write_curve(path: Path, module: PretrainingModule) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("step", "tokens", "train_loss", "learning_rate"))
        writer.writerows(module.curve)
