"""Pretraining of every paradigm: a Lightning module, checkpoint and resume.

Everything random is a function of (seed, step), so a run that is cut short goes on from its last
checkpoint, on a CPU bit for bit; a GPU's own kernels may add up in another order.
"""

import csv
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

import pytorch_lightning as pl
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset
from torchmetrics import MeanMetric

from harness.budget import total_steps
from harness.compute import Compute
from harness.corpora.stream import TokenStream
from harness.objectives import evaluation
from harness.objectives.batches import BatchMaker
from harness.objectives.feeding import Feed, Step, TensorBatch, to_step, to_tensors
from harness.objectives.vocabulary import Vocabulary
from harness.optimizer import configure
from harness.paradigms.learner import Learner
from harness.paradigms.making import make_learner
from harness.recipes import Pretrain
from harness.training import make_trainer, seed_torch

DROPOUT = 100
"""Second element of the seeds of dropout, apart from those of the batches."""
CURVE_POINTS = 200
"""Rows of a loss curve, about."""


DEFAULT_COMPUTE = Compute()


class Pretraining(pl.LightningModule):
    """The weighted sum of a learner's mean losses, over all parts of a batch."""

    loss_sum: Tensor

    def __init__(self, learner: Learner, spec: Pretrain, num_steps: int, seed: int) -> None:
        super().__init__()
        self.automatic_optimization = False  # the loss is a mean over all parts of a batch
        self.learner = learner
        self.trained = [weight for weight in learner.parameters() if weight.requires_grad]
        self.spec, self.num_steps, self.seed = spec, num_steps, seed
        self.curve_every = max(1, num_steps // CURVE_POINTS)
        self.curve: list[tuple[int, int, float, float]] = []
        """(step, tokens, mean loss since the row before, learning rate)."""
        self.tokens = 0
        self.seconds = 0.0
        # Sum of the losses since the curve's last row; read seldom, as reading waits for a GPU.
        self.register_buffer("loss_sum", torch.zeros(()))
        self.held_out = nn.ModuleDict()
        """Held-out means by loss: `<name>_loss` and `<name>_accuracy`."""

    def configure_optimizers(self) -> Any:
        return configure(self.learner, self.spec.optimizer, self.spec.schedule, self.num_steps)

    def training_step(self, step: Step, index: int) -> None:
        optimizer: Any = self.optimizers()
        scheduler: Any = self.lr_schedulers()
        seed_torch(self.device, self.seed, DROPOUT, self.global_step)
        for part in step.parts:
            loss = self.loss(part, step)
            self.manual_backward(loss)
            self.loss_sum += loss.detach()
        max_norm = self.spec.optimizer.max_grad_norm
        if max_norm:
            torch.nn.utils.clip_grad_norm_(self.trained, max_norm)
        rate = scheduler.get_last_lr()[0]
        optimizer.step()
        optimizer.zero_grad()
        scheduler.step()
        self.tokens += step.num_tokens
        if self.global_step % self.curve_every == 0 or self.global_step == self.num_steps:
            self._extend_curve(rate)

    def loss(self, part: TensorBatch, step: Step) -> Tensor:
        """What one part adds to the loss of its batch."""
        sums = self.learner(part, step.component)
        means = [
            self.learner.weights.get(name, 1.0) * value / max(1, step.counts[name])
            for name, value in sums.items()
        ]
        return torch.stack(means).sum()

    def _extend_curve(self, rate: float) -> None:
        self.check_loss()
        since = self.global_step - (self.curve[-1][0] if self.curve else 0)
        self.curve.append((self.global_step, self.tokens, float(self.loss_sum) / since, rate))
        self.loss_sum.zero_()

    def check_loss(self) -> None:
        """Raises FloatingPointError if a loss since the last row of the curve was not finite."""
        if not torch.isfinite(self.loss_sum):
            raise FloatingPointError(
                f"the pretraining loss is not finite at step {self.global_step} of "
                f"{self.num_steps}; lower optimizer.learning_rate, lengthen the warmup, or set "
                "optimizer.max_grad_norm"
            )

    def validation_step(self, part: TensorBatch, index: int, dataloader_idx: int = 0) -> None:
        """Loader 0 asks what the objective's kind asks for, loader 1 about pairs."""
        component = len(self.spec.objectives) - 1
        for name, (logits, right) in self.learner.answers(part, component).items():
            if (name == "pair") == (dataloader_idx == 1):
                loss = F.cross_entropy(logits.float(), right, reduction="none")
                self._held_out(f"{name}_loss").update(loss)
                self._held_out(f"{name}_accuracy").update((logits.argmax(-1) == right).float())

    def _held_out(self, name: str) -> MeanMetric:
        if name not in self.held_out:
            self.held_out[name] = MeanMetric().to(self.device)
        return cast(MeanMetric, self.held_out[name])

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        rows = [list(row) for row in self.curve]
        checkpoint["harness"] = {"curve": rows, "tokens": self.tokens, "seconds": self.seconds}

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        state = checkpoint["harness"]
        self.curve = [(row[0], row[1], row[2], row[3]) for row in state["curve"]]
        self.tokens, self.seconds = state["tokens"], state["seconds"]

    def figures(self) -> dict[str, float]:
        """What is known of a run at its end."""
        figures = {
            "steps": float(self.num_steps),
            "tokens": float(self.tokens),
            "seconds": self.seconds,
        }
        if self.curve:
            figures["train_loss"] = self.curve[-1][2]
            figures["tokens_per_second"] = self.tokens / self.seconds
        for name, metric in self.held_out.items():
            label = name.removeprefix("token_")  # what every paradigm has goes without a name
            figures[f"validation_{label}"] = float(cast(MeanMetric, metric).compute())
        return figures


class Watch(pl.Callback):
    """Saves a checkpoint now and then, whole or not at all; keeps the time; reports progress."""

    def __init__(self, path: Path, compute: Compute, progress: Callable[..., None]) -> None:
        self.path, self.compute, self.progress = path, compute, progress
        self.saved = self.last = 0.0
        self.pause = compute.checkpoint_seconds

    def on_train_start(self, trainer: pl.Trainer, module: pl.LightningModule) -> None:
        self.saved = self.last = time.monotonic()

    def on_train_batch_end(
        self, trainer: pl.Trainer, module: pl.LightningModule, outputs: Any, batch: Step, index: int
    ) -> None:
        assert isinstance(module, Pretraining)
        now = time.monotonic()
        module.seconds += now - self.last
        self.last = now
        if now - self.saved >= self.pause:
            self._save(trainer, module)
        figures = {"tokens_per_second": module.tokens / module.seconds}
        if module.curve:
            figures["loss"] = module.curve[-1][2]
        self.progress(trainer.global_step, module.num_steps, **figures)

    def _save(self, trainer: pl.Trainer, module: Pretraining) -> None:
        module.check_loss()
        begin = time.monotonic()
        temporary = self.path.with_suffix(".tmp")
        trainer.save_checkpoint(temporary)
        temporary.replace(self.path)
        self.saved = time.monotonic()
        took = self.saved - begin
        self.pause = max(self.compute.checkpoint_seconds, took / self.compute.checkpoint_share)


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

    Leaves the model in Hugging Face format in `out`/model, and `out`/curve.csv.

    Args:
        tokens: folder with the streams `train` and `validation`.
        tokenizer: folder of the tokenizer that made them; it decides the size of the vocabulary.
        progress: called with (done, total, **figures) after each update.
        folders: what the runs left that this one builds on, as `start_from` and `teacher`.

    Returns:
        steps, tokens, seconds, validation_loss, validation_accuracy; the same of other losses by
        their names, as validation_pair_accuracy; train_loss (the last of the curve) and
        tokens_per_second where anything was trained.

    Raises:
        ValueError: the text is too small for a batch, or for the pairs asked for.
        FloatingPointError: the loss is not finite.
    """
    vocabulary = Vocabulary.load(tokenizer)
    micro_batch_tokens = compute.micro_batch_tokens or default_micro_batch_tokens()
    while True:
        module = _make_module(spec, vocabulary, seed, folders or {})
        feed = _make_feed(module, tokens / "train", vocabulary, micro_batch_tokens)
        try:
            trainer = fit(module, feed, work / "last.ckpt", compute, progress)
            break
        except torch.OutOfMemoryError:
            micro_batch_tokens //= 2
            if micro_batch_tokens < min(phase.sequence_length for phase in spec.phases):
                raise
    start = decoder_start(module, vocabulary)
    validation = _validation_loaders(spec, tokens / "validation", vocabulary, start)
    trainer.validate(module, validation, verbose=False)
    module.learner.save(out / "model")
    _write_curve(out / "curve.csv", module)
    return module.figures()


def default_micro_batch_tokens() -> int:
    """Positions that go through the model at once if nothing is said."""
    return 65_536 if torch.cuda.is_available() else 8_192


def fit(
    module: Pretraining,
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
        precision=module.spec.precision,
        max_steps=module.num_steps,
        max_epochs=-1,
    )
    feed.first = lambda: trainer.global_step
    if module.num_steps:
        resume = checkpoint if checkpoint.exists() else None
        loader = DataLoader(feed, batch_size=None)
        trainer.fit(module, loader, ckpt_path=resume, weights_only=True)
    return trainer


def _make_module(
    spec: Pretrain, vocabulary: Vocabulary, seed: int, folders: Mapping[str, Path]
) -> Pretraining:
    learner = make_learner(spec, vocabulary, seed, folders)
    num_steps = total_steps(spec.budget, spec.batch_size, spec.phases)
    return Pretraining(learner, spec, num_steps, seed)


def _make_feed(
    module: Pretraining, stream: Path, vocabulary: Vocabulary, micro_batch_tokens: int
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


def decoder_start(module: Pretraining, vocabulary: Vocabulary) -> int:
    """Token that a decoder's input starts with."""
    start = getattr(module.learner.backbone.network.config, "decoder_start_token_id", None)
    return vocabulary.pad if start is None else int(start)


def _validation_loaders(
    spec: Pretrain, folder: Path, vocabulary: Vocabulary, start: int
) -> list[DataLoader[TensorBatch]]:
    """The batches of the output, and those of pairs where there is a pair loss."""
    stream = TokenStream.open(folder)
    objective = spec.objectives[-1]
    longest = max(phase.sequence_length for phase in spec.phases)
    sets = [evaluation.held_out_batches(stream, vocabulary, objective, longest, start)]
    if objective.pair != "none":
        length = spec.phases[-1].sequence_length
        sets.append(evaluation.pair_batches(stream, vocabulary, objective, spec.packing, length))
    collate = cast("Callable[[list[Any]], TensorBatch]", to_tensors)  # of one batch, not a list
    # A list has all that a map-style data set needs, but for the type.
    return [
        DataLoader(cast("Dataset[Any]", batches), batch_size=None, collate_fn=collate)
        for batches in sets
    ]


def _write_curve(path: Path, module: Pretraining) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("step", "tokens", "train_loss", "learning_rate"))
        writer.writerows(module.curve)
