"""Fine-tuning: backbone + pooling + linear head, under one protocol for every paradigm.

Shapes: B examples, T tokens, H hidden size, C outputs (classes, or 1 for regression).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, IterableDataset
from transformers import AutoModel, PreTrainedModel, PreTrainedTokenizerFast

from harness.adaptation import Finetune, Protocol
from harness.optimizer import Optimizer, Schedule, configure
from harness.tasks.loading import Examples
from harness.tasks.metrics import METRICS
from harness.tasks.task import Task
from harness.training import make_trainer, seed_torch

EVALUATION_BATCH = 256
POOL = 16
"""Batches whose examples are sorted by length together."""

Batch = dict[str, Tensor]


@dataclass(frozen=True)
class Encoded:
    """Examples as token numbers: lists of different lengths."""

    input_ids: list[list[int]]
    token_type_ids: list[list[int]]
    labels: np.ndarray
    truncated: float
    """Share of the examples that lost tokens to `max_sequence_length`."""


def encode(
    tokenizer: PreTrainedTokenizerFast, examples: Examples, max_sequence_length: int
) -> Encoded:
    """One text or a pair per example, special tokens added, the longer text truncated first."""
    columns = list(zip(*examples.texts, strict=True))
    out = tokenizer(
        *[list(column) for column in columns],
        truncation="longest_first",
        max_length=max_sequence_length,
        return_token_type_ids=True,
        return_attention_mask=False,
        return_overflowing_tokens=False,
    )
    lengths = np.array([len(ids) for ids in out["input_ids"]])
    return Encoded(
        out["input_ids"],
        out["token_type_ids"],
        examples.labels,
        float((lengths == max_sequence_length).mean()),
    )


def collate(data: Encoded, rows: np.ndarray, pad_token_id: int) -> Batch:
    """The examples `rows`, padded on the right to the longest: input_ids, token_type_ids and
    attention_mask [B, T], labels [B]."""
    longest = max(len(data.input_ids[row]) for row in rows)
    ids = np.full((len(rows), longest), pad_token_id, dtype=np.int64)
    types = np.zeros_like(ids)
    mask = np.zeros_like(ids)
    for i, row in enumerate(rows):
        length = len(data.input_ids[row])
        ids[i, :length] = data.input_ids[row]
        types[i, :length] = data.token_type_ids[row]
        mask[i, :length] = 1
    return {
        "input_ids": torch.from_numpy(ids),
        "token_type_ids": torch.from_numpy(types),
        "attention_mask": torch.from_numpy(mask),
        "labels": torch.from_numpy(data.labels[rows]),
    }


class TrainBatches(IterableDataset[Batch]):
    """All batches of all epochs; the seed alone decides what is in them and their order."""

    def __init__(self, data: Encoded, finetune: Finetune, pad_token_id: int, seed: int) -> None:
        self.data, self.finetune, self.pad_token_id, self.seed = data, finetune, pad_token_id, seed

    @property
    def num_steps(self) -> int:
        per_epoch = -(-len(self.data.labels) // self.finetune.batch_size)
        return per_epoch * self.finetune.epochs

    def __iter__(self) -> Iterator[Batch]:
        for epoch in range(self.finetune.epochs):
            for rows in self.order(epoch):
                yield collate(self.data, rows, self.pad_token_id)

    def order(self, epoch: int) -> list[np.ndarray]:
        """Rows of each batch: examples of like length together, so that little is padding.

        Random pools of POOL batches are sorted by length and cut; then the batches are shuffled.
        """
        generator = np.random.default_rng([self.seed, epoch])
        lengths = np.array([len(ids) for ids in self.data.input_ids])
        order = generator.permutation(len(lengths))
        size = self.finetune.batch_size
        pools = [order[i : i + size * POOL] for i in range(0, len(order), size * POOL)]
        pools = [pool[np.argsort(lengths[pool], kind="stable")] for pool in pools]
        batches = [pool[i : i + size] for pool in pools for i in range(0, len(pool), size)]
        return [batches[i] for i in generator.permutation(len(batches))]


class Classifier(nn.Module):
    """A pretrained backbone with a new linear head; C = 1 for regression."""

    def __init__(self, backbone: PreTrainedModel, num_outputs: int, protocol: Protocol) -> None:
        super().__init__()
        self.backbone = backbone
        self.protocol = protocol
        self.dropout = nn.Dropout(protocol.head_dropout)
        self.head = nn.Linear(backbone.config.hidden_size, num_outputs)
        nn.init.normal_(self.head.weight, std=backbone.config.initializer_range)
        nn.init.zeros_(self.head.bias)
        self.has_segments = backbone.config.type_vocab_size > 1

    def forward(self, batch: Batch) -> Tensor:
        """Logits [B, C]."""
        inputs = {name: batch[name] for name in ("input_ids", "attention_mask")}
        if self.has_segments:
            inputs["token_type_ids"] = batch["token_type_ids"]
        states = self.backbone(**inputs).last_hidden_state
        pooled = pool(states, batch["attention_mask"], self.protocol.pooling)
        logits: Tensor = self.head(self.dropout(pooled))
        return logits


def pool(states: Tensor, mask: Tensor, pooling: str) -> Tensor:
    """[B, T, H] states to [B, H]: the first token's, or the mean or maximum over real tokens."""
    if pooling == "cls":
        return states[:, 0]
    real = mask.unsqueeze(-1).bool()
    if pooling == "max":
        return states.masked_fill(~real, torch.finfo(states.dtype).min).amax(1)
    return states.masked_fill(~real, 0).sum(1) / real.sum(1)


class Finetuning(pl.LightningModule):
    """Cross-entropy for classes, mean squared error for regression."""

    def __init__(
        self, model: Classifier, finetune: Finetune, num_steps: int, seed: int, regression: bool
    ) -> None:
        super().__init__()
        self.model = model
        self.finetune = finetune
        self.num_steps = num_steps
        self.seed = seed
        self.regression = regression
        self.losses: list[Tensor] = []

    def training_step(self, batch: Batch, step: int) -> Tensor:
        seed_torch(self.device, self.seed, step)
        logits = self.model(batch)
        if self.regression:
            loss = F.mse_loss(logits.squeeze(-1), batch["labels"].to(logits.dtype))
        else:
            loss = F.cross_entropy(logits, batch["labels"])
        self.losses.append(loss.detach())
        return loss

    def configure_optimizers(self) -> Any:
        settings = Optimizer(
            learning_rate=self.finetune.learning_rate,
            weight_decay=self.finetune.weight_decay,
            beta2=self.finetune.beta2,
        )
        schedule = Schedule(warmup_fraction=self.finetune.warmup_fraction)
        return configure(self.model, settings, schedule, self.num_steps)


@dataclass(frozen=True)
class Finetuned:
    """What one fine-tuning run gives."""

    module: Finetuning
    train_loss: float
    """Mean over the last epoch."""
    steps: int

    @property
    def diverged(self) -> bool:
        return not np.isfinite(self.train_loss)


def finetune(
    model_folder: Path,
    train: Encoded,
    task: Task,
    protocol: Protocol,
    settings: Finetune,
    *,
    pad_token_id: int,
    seed: int,
    progress: Callable[[int, int], None] = lambda done, total: None,
    on_epoch: Callable[[Classifier, int], None] | None = None,
) -> Finetuned:
    """Trains every parameter of the backbone in `model_folder` and a new head on `train`.

    A function of its arguments: the seed decides the head, the order of the examples and dropout.
    `on_epoch(model, epoch)` is called after each epoch.
    """
    batches = TrainBatches(train, settings, pad_token_id, seed)
    hooks = _Hooks(batches.num_steps, settings.epochs, progress, on_epoch)
    trainer = make_trainer(hooks, max_epochs=1, gradient_clip_val=1.0)  # all epochs are in one
    seed_torch(torch.device("cpu"), seed)
    # BERT's pooler is left out: the head reads the states themselves, as every protocol says.
    backbone = AutoModel.from_pretrained(
        model_folder, add_pooling_layer=False, local_files_only=True, use_safetensors=True
    )
    regression = task.kind == "regression"
    model = Classifier(backbone, 1 if regression else len(task.labels), protocol)
    module = Finetuning(model, settings, batches.num_steps, seed, regression)
    module.train()  # from_pretrained leaves the backbone in evaluation mode, without dropout
    trainer.fit(module, DataLoader(batches, batch_size=None))
    last_epoch = module.losses[-(batches.num_steps // settings.epochs) :]
    return Finetuned(module, float(torch.stack(last_epoch).mean()), batches.num_steps)


class _Hooks(pl.Callback):
    """Reports progress, and calls back at the end of each epoch of the examples."""

    def __init__(
        self,
        num_steps: int,
        epochs: int,
        progress: Callable[[int, int], None],
        on_epoch: Callable[[Classifier, int], None] | None,
    ) -> None:
        self.num_steps, self.progress, self.on_epoch = num_steps, progress, on_epoch
        self.per_epoch = num_steps // epochs

    def on_train_batch_end(
        self, trainer: pl.Trainer, module: pl.LightningModule, outputs: Any, batch: Any, step: int
    ) -> None:
        self.progress(step + 1, self.num_steps)
        if self.on_epoch and (step + 1) % self.per_epoch == 0 and isinstance(module, Finetuning):
            self.on_epoch(module.model, (step + 1) // self.per_epoch)
            module.train()


@torch.inference_mode()
def predict(model: Classifier, data: Encoded, pad_token_id: int) -> np.ndarray:
    """Class numbers, or values for regression, in the order of `data`; float64 [examples]."""
    model.eval()
    device = next(model.parameters()).device
    order = np.argsort([len(ids) for ids in data.input_ids], kind="stable")
    out = np.zeros(len(order))
    for start in range(0, len(order), EVALUATION_BATCH):
        rows = order[start : start + EVALUATION_BATCH]
        batch = {k: v.to(device) for k, v in collate(data, rows, pad_token_id).items()}
        logits = model(batch).float()
        values = logits.squeeze(-1) if logits.shape[1] == 1 else logits.argmax(1)
        out[rows] = values.cpu().numpy()
    return out


def score(task: Task, labels: np.ndarray, predictions: np.ndarray) -> dict[str, float | None]:
    """Every metric of the task; null where it is undefined, as the correlation of a constant."""
    values = {name: METRICS[name](labels, predictions) for name in task.metrics}
    return {name: float(v) if np.isfinite(v) else None for name, v in values.items()}
