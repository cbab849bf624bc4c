"""Fine-tuning: a backbone and a new head, under one protocol for every paradigm."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch
from torch import Tensor
from torch.nn import functional as F
from torch.utils.data import DataLoader

from harness.adaptation import Finetune, Protocol
from harness.adaptation.classifier import Classifier
from harness.adaptation.inputs import Batch, Encoded, TrainBatches, collate, orders
from harness.models.build import load
from harness.optimizer import Optimizer, Schedule, configure
from harness.tasks.metrics import METRICS
from harness.tasks.task import Task
from harness.training import make_trainer, seed_torch

EVALUATION_BATCH = 256


class Finetuning(pl.LightningModule):
    """Cross-entropy for classes, mean squared error for regression; beside it the next-token loss
    on the inputs, if it has a weight (Radford et al. 2018, equation 5)."""

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
        states = [self.model.states(one) for one in orders(batch)]
        loss = self._task_loss(self.model.classify(batch, states), batch)
        self.losses.append(loss.detach())
        if weight := self.finetune.auxiliary_lm_weight:
            loss = loss + weight * self.model.next_token_loss(batch, states)
        return loss

    def _task_loss(self, logits: Tensor, batch: Batch) -> Tensor:
        if self.regression:
            return F.mse_loss(logits.squeeze(-1), batch["labels"].to(logits.dtype))
        return F.cross_entropy(logits, batch["labels"])

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
    """The task's, mean over the last epoch."""
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
    adaptation: str = "full",
    progress: Callable[[int, int], None] = lambda done, total: None,
    on_epoch: Callable[[Classifier, int], None] | None = None,
) -> Finetuned:
    """Trains a new head on `train`, and with it every parameter of the backbone in `model_folder`
    or, with the adaptation `frozen`, none.

    A function of its arguments: the seed decides the head, the order of the examples and dropout.
    `on_epoch(model, epoch)` is called after each epoch.

    Raises:
        ValueError: pooling or auxiliary loss does not suit the way the backbone is read.
    """
    batches = TrainBatches(train, settings, pad_token_id, seed)
    hooks = _Hooks(batches.num_steps, settings.epochs, progress, on_epoch)
    trainer = make_trainer(hooks, max_epochs=1, gradient_clip_val=1.0)  # all epochs are in one
    backbone = load(model_folder)
    _check_auxiliary(settings, backbone.representation, adaptation)
    seed_torch(torch.device("cpu"), seed)
    regression = task.kind == "regression"
    num_outputs = 1 if regression else len(task.labels)
    model = Classifier(backbone, num_outputs, protocol, adaptation)
    module = Finetuning(model, settings, batches.num_steps, seed, regression)
    module.train()  # loading leaves the backbone in evaluation mode, without dropout
    trainer.fit(module, DataLoader(batches, batch_size=None))
    last_epoch = module.losses[-(batches.num_steps // settings.epochs) :]
    return Finetuned(module, float(torch.stack(last_epoch).mean()), batches.num_steps)


def _check_auxiliary(settings: Finetune, reading: str, adaptation: str) -> None:
    if settings.auxiliary_lm_weight and (reading != "causal" or adaptation == "frozen"):
        found = "a frozen model" if adaptation == "frozen" else f"one read {reading}"
        raise ValueError(
            f"finetune.auxiliary_lm_weight is for a model read causal that is trained whole, but "
            f"this is {found}; set it to 0"
        )


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
