"""A pretraining run, from initial weights or the last checkpoint to the end of its budget."""

import csv
import math
import shutil
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any

import pytorch_lightning as pl
import torch
from pytorch_lightning.loggers import Logger
from pytorch_lightning.profilers import Profiler
from torch.utils.data import DataLoader

from harness.core.checked_files import is_intact_zip, read_checked, write_checked
from harness.core.compute import DEFAULT_COMPUTE, Compute
from harness.data.corpora.token_stream import BY_SOURCE, TokenStream
from harness.pretraining.callbacks import CHECKPOINTS, RunCallback
from harness.pretraining.compilation import compiled
from harness.pretraining.distributed import (
    agreed,
    default_micro_batch_tokens,
    num_ranks,
    rank,
    uses_gpus,
)
from harness.pretraining.learners.factory import make_learner
from harness.pretraining.learners.learner import decoder_start
from harness.pretraining.module import DROPOUT, MODULES, PretrainingModule
from harness.pretraining.objectives.batches import BatchMaker
from harness.pretraining.objectives.held_out import check_pairs
from harness.pretraining.objectives.loader import Feed, Step, to_step
from harness.pretraining.objectives.vocabulary import Vocabulary
from harness.pretraining.recipes.pretrain import Pretrain
from harness.pretraining.schedule import cut_short
from harness.pretraining.steps import planned_steps, training_flops_per_token
from harness.pretraining.trainer import choose_kernels, make_trainer, seed_torch, torch_seed
from harness.pretraining.training_flops import TRAINING
from harness.pretraining.validation import losses_by_source, validate

Prepared = tuple[PretrainingModule, Feed]


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
    loggers: Sequence[Logger] = (),
) -> dict[str, float]:
    """Trains a model from initial weights, or from the checkpoint in `work`, to its budget's end.

    Writes the model in Hugging Face format to `out`/model, the learning curve to `out`/curve.csv,
    and the weights after `spec.checkpoint_fractions` of the updates to
    `out`/checkpoints/<fraction>.

    Args:
        tokens: folder with the streams `train` and `validation`, and of a mixture BY_SOURCE.
        tokenizer: folder of the tokenizer that made them.
        progress: called with (done, total, **figures) after each update.
        folders: results of the runs `init_from` and `teacher`, if any.
        loggers: receive loss, learning rate, gradient norm and speed at every row of the curve.

    Returns:
        steps, tokens, seconds, validation_loss, validation_accuracy; further losses by name, such
        as validation_pair_accuracy; validation_bits_per_byte of left-to-right models; the same of
        each source of a mixture, as validation_source_<name>_loss; train_loss
        (the last of the curve), tokens_per_second and flops_per_second if anything was trained.

    Raises:
        ValueError: the text, or that held out, is too small for a batch or for sentence pairs.
        FloatingPointError: the loss is not finite.
    """
    if spec.objectives[-1].sentence_pair != "none":  # before the training, which would be lost
        check_pairs(TokenStream.open(tokens / "validation"), spec.objectives[-1])
    vocabulary = Vocabulary.load(tokenizer)
    micro_batch = compute.micro_batch_tokens or default_micro_batch_tokens(compute)

    def prepared(run: Pretrain, num_steps: int, micro_batch: int = micro_batch) -> Prepared:
        module = make_module(run, vocabulary, seed, folders or {}, num_steps)
        return module, make_feed(module, tokens / "train", vocabulary, micro_batch)

    if spec.budget.seconds:
        num_steps = steps_within_seconds(spec, work, compute, prepared)
    else:
        num_steps = planned_steps(spec)
    trainer, module = fit_in_memory(
        partial(prepared, spec, num_steps),
        lambda module, feed: fit(module, feed, work / "last.ckpt", compute, progress, loggers),
        micro_batch,
    )
    module = module.whole()
    validate(trainer, module, tokens / "validation", vocabulary)
    if rank() == 0:
        save_results(module, work, out)
    figures = _with_flops(module.figures(), module, vocabulary.size)
    return figures | losses_by_source(trainer, module, tokens / BY_SOURCE, vocabulary)


def fit_in_memory(
    prepare: Callable[[int], Prepared],
    run_to_end: Callable[[PretrainingModule, Feed], pl.Trainer],
    micro_batch_tokens: int,
) -> tuple[pl.Trainer, PretrainingModule]:
    """A trainer and its module after training, with smaller micro-batches when memory runs out.

    Args:
        prepare: makes the module and the feed of micro-batches with so many positions.
        run_to_end: `fit`.

    Raises:
        torch.OutOfMemoryError: a sequence alone does not fit, or one of several ranks has no
            memory left.
    """
    while True:
        module, feed = prepare(micro_batch_tokens)
        try:
            return run_to_end(module, feed), module
        except torch.OutOfMemoryError:
            micro_batch_tokens //= 2
            shortest = min(phase.sequence_length for phase in module.spec.phases)
            if micro_batch_tokens < shortest or num_ranks() > 1:  # the other ranks wait for this
                raise


def _with_flops(
    figures: dict[str, float], module: PretrainingModule, vocab_size: int
) -> dict[str, float]:
    """Figures with `flops_per_second` if anything was trained."""
    rate = figures.get("tokens_per_second")
    if not rate:
        return figures
    return {**figures, "flops_per_second": rate * flops_per_token(module, vocab_size)}


def flops_per_token(module: PretrainingModule, vocab_size: int) -> float:
    """FLOPs of training for a token of text, by FLOPS_CONVENTION. For the network of a checkpoint,
    a forward pass counts 2 per weight (Kaplan et al. 2020, section 2.1).

    Args:
        vocab_size: entries that the tokenizer has learned.
    """
    if module.spec.model.facts.kind == "checkpoint":
        weights = module.learner.backbone.parameters()
        return TRAINING * 2.0 * sum(weight.numel() for weight in weights)
    return training_flops_per_token(module.spec, vocab_size)


def save_results(module: PretrainingModule, work: Path, out: Path) -> None:
    """Writes the model, the kept weights and the curve to `out`."""
    (out / "model").mkdir(exist_ok=True)
    module.learner.save(out / "model")
    if (work / CHECKPOINTS).exists():
        shutil.copytree(work / CHECKPOINTS, out / CHECKPOINTS, dirs_exist_ok=True)
    with (out / "curve.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("step", "tokens", "train_loss", "learning_rate"))
        writer.writerows(module.curve)


MODULE = 101
"""Second element of the seed of the weights that a module of a plug-in adds."""
TIMED_STEPS = 40
"""Updates that are timed for a budget in seconds; the first half is warmup."""


def steps_within_seconds(
    spec: Pretrain, work: Path, compute: Compute, prepare: Callable[..., tuple[Any, Feed]]
) -> int:
    """Updates within a budget in seconds on this machine; a resumed run keeps the number.

    Args:
        prepare: makes the module and the feed of a run and a number of updates.
    """
    saved = work / "steps.json"
    if known := read_checked(saved):
        return int(known["steps"])
    ends: list[tuple[int, float]] = []
    schedule = cut_short(spec.schedule, TIMED_STEPS)
    copy = spec.model_copy(update={"checkpoint_fractions": (), "schedule": schedule})
    never = compute.model_copy(update={"checkpoint_interval_seconds": math.inf})
    module, feed = prepare(copy, TIMED_STEPS)
    # A row reads the loss, which waits for a GPU: rarely, as in a long run, but when it is timed.
    module.curve_every = TIMED_STEPS // 2
    fit(module, feed, work / "none", never, lambda n, _, **figures: ends.append((n, monotonic())))
    first, begin = next(end for end in ends if end[0] >= TIMED_STEPS // 2)
    rate = (TIMED_STEPS - first) / (ends[-1][1] - begin)
    steps = agreed(planned_steps(spec, rate))
    if rank() == 0:
        write_checked(saved, {"steps": steps, "steps_per_second": rate})
    return steps


def fit(
    module: PretrainingModule,
    feed: Feed,
    checkpoint: Path,
    compute: Compute,
    progress: Callable[..., None] = lambda done, total, **figures: None,
    loggers: Sequence[Logger] = (),
    profiler: Profiler | None = None,
) -> pl.Trainer:
    """The trainer after training `module` to its last step, from `checkpoint` if it exists."""
    choose_kernels(module, compute)
    if compute.strategy == "fsdp" and num_ranks() > 1:
        module.shard("cuda" if uses_gpus(compute) else "cpu")
    trainer = make_trainer(
        RunCallback(checkpoint, compute, progress),
        compute=compute,
        loggers=loggers,
        profiler=profiler,
        precision=compute.precision,
        max_steps=module.num_steps,
        max_epochs=-1,
    )
    feed.first, feed.length = lambda: trainer.global_step, module.num_updates_at_once
    feed.is_for_gpu = uses_gpus(compute)
    if module.num_steps:
        resume = checkpoint if _is_usable(checkpoint) else None
        loader = DataLoader(feed, batch_size=None)
        with compiled(module, compute):
            trainer.fit(module, loader, ckpt_path=resume, weights_only=True)
    return trainer


def _is_usable(checkpoint: Path) -> bool:
    """Whether there is a checkpoint; a damaged one is set aside, and the run begins again."""
    exists = agreed(checkpoint.exists())
    usable = exists and agreed(is_intact_zip(checkpoint))
    if exists and not usable and rank() == 0:
        checkpoint.replace(checkpoint.with_suffix(".damaged"))
    return usable


def make_module(
    spec: Pretrain,
    vocabulary: Vocabulary,
    seed: int,
    folders: Mapping[str, Path],
    num_steps: int,
) -> PretrainingModule:
    """A learner with initial weights and `num_steps` updates ahead."""
    module = MODULES[spec.module] if spec.module else PretrainingModule
    learner = make_learner(spec, vocabulary, seed, folders)
    with torch.random.fork_rng(devices=[]):
        seed_torch(torch.device("cpu"), seed, MODULE)
        return module(learner, spec, num_steps, seed)


def make_feed(
    module: PretrainingModule, stream: Path, vocabulary: Vocabulary, micro_batch_tokens: int
) -> Feed:
    """The prefetched training batches of a module, from the token stream in `stream`."""
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
        decoder_start(module.learner.backbone, vocabulary),
    )

    def make(step: int) -> Step:
        seed = torch_seed(module.seed, DROPOUT, step)
        return to_step(maker.batch(step), micro_batch_tokens, maker.component(step), seed)

    return Feed(make, module.num_steps)
