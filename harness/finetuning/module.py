"""Fine-tuning: a backbone and what answers a task, under one protocol for every paradigm."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pytorch_lightning as pl
import torch
from torch import Tensor
from torch.utils.data import DataLoader

from harness.core.compute import DEFAULT_COMPUTE, Compute
from harness.finetuning.adaptation import ADAPTATIONS, Adaptation
from harness.finetuning.compatibility import settings_problem
from harness.finetuning.costs import Costs, measure
from harness.finetuning.heads.head import TaskHead
from harness.finetuning.inputs import Batch, Encoded, TrainBatches
from harness.finetuning.methods import adapt
from harness.finetuning.methods.layerwise import learning_rate_factors, reinitialise
from harness.finetuning.methods.parts import freeze_unread
from harness.finetuning.methods.selective import begin_epoch
from harness.finetuning.protocol import Finetune
from harness.finetuning.task_model import TaskModel
from harness.models.build import load
from harness.pretraining.optimizer import Optimizer, Schedule, configure
from harness.pretraining.trainer import make_trainer, seed_torch
from harness.tasks.examples import Examples

EVALUATION_BATCH = 256


class HasLoss(Protocol):
    """A form, or what stands for several."""

    def loss(self, outputs: Tensor, batch: Batch) -> Tensor:
        """Mean loss of a batch, from what the model gives for it."""
        ...


class FinetuningModule(pl.LightningModule):
    """The loss of the task's form; beside it the next-token loss on the inputs, if it has a weight
    (Radford et al. 2018, equation 5)."""

    def __init__(
        self, model: TaskModel, form: HasLoss, finetune: Finetune, num_steps: int, seed: int
    ) -> None:
        super().__init__()
        self.model = model
        self.form = form
        self.finetune = finetune
        self.num_steps = num_steps
        self.seed = seed
        self.losses: list[Tensor] = []

    def training_step(self, batch: Batch, step: int) -> Tensor:
        per_epoch = max(1, self.num_steps // self.finetune.epochs)
        if step % per_epoch == 0:
            begin_epoch(self.model, step // per_epoch)
        seed_torch(self.device, self.seed, step)
        states = self.model.states(batch)
        loss = self.form.loss(self.model.outputs(batch, states), batch)
        self.losses.append(loss.detach())
        if weight := self.finetune.auxiliary_lm_weight:
            loss = loss + weight * self.model.next_token_loss(batch, states)
        return loss

    def configure_optimizers(self) -> Any:
        settings = Optimizer(
            learning_rate=self.finetune.learning_rate,
            weight_decay=self.finetune.weight_decay,
            beta2=self.finetune.beta2,
            bias_correction=self.finetune.bias_correction is not False,
        )
        schedule = Schedule(
            warmup_fraction=self.finetune.warmup_fraction, decay=self.finetune.schedule or "linear"
        )
        decay = self.finetune.layer_decay
        factors = learning_rate_factors(self.model, decay) if decay else {}
        return configure(self.model, settings, schedule, self.num_steps, factors)


@dataclass(frozen=True)
class Finetuned:
    """What one fine-tuning run gives."""

    model: TaskModel
    train_loss: float
    """The task's, mean over the last epoch."""
    steps: int
    costs: Costs

    @property
    def diverged(self) -> bool:
        return not np.isfinite(self.train_loss)


def finetune(
    model_folder: Path,
    train: Encoded,
    form: TaskHead,
    settings: Finetune,
    *,
    seed: int,
    adaptation: Adaptation = ADAPTATIONS["full"],
    progress: Callable[[int, int], None] = lambda done, total: None,
    on_epoch: Callable[[TaskModel, int], None] | None = None,
    callbacks: Sequence[pl.Callback] = (),
    compute: Compute = DEFAULT_COMPUTE,
) -> Finetuned:
    """Trains what `form` puts on the backbone in `model_folder`, and of the backbone what the
    adaptation says.

    A function of its arguments: the seed decides the head, the order of the examples and dropout.
    `on_epoch(model, epoch)` is called after each epoch; `callbacks` see every update.

    Raises:
        ValueError: pooling or auxiliary loss does not suit the way the backbone is read.
    """
    batches = TrainBatches(train, settings, form.collate, seed)
    hooks = _Hooks(batches.num_steps, settings.epochs, progress, on_epoch)
    # All epochs are in one.
    trainer = make_trainer(hooks, *callbacks, compute=compute, max_epochs=1, gradient_clip_val=1.0)
    model = prepared_model(model_folder, form, adaptation, seed, settings)
    module = FinetuningModule(model, form, settings, batches.num_steps, seed)
    module.train()  # loading leaves the backbone in evaluation mode, without dropout
    longest = np.argsort(train.lengths, kind="stable")[-settings.batch_size :]
    costs = measure(model, form.loss, form.collate(train, longest), settings.epochs - 1)
    trainer.fit(module, DataLoader(batches, batch_size=None))
    last_epoch = module.losses[-(batches.num_steps // settings.epochs) :]
    return Finetuned(model, float(torch.stack(last_epoch).mean()), batches.num_steps, costs)


def prepared_model(
    folder: Path, form: TaskHead, adaptation: Adaptation, seed: int, settings: Finetune
) -> TaskModel:
    """The backbone in `folder` with what `form` puts on it, as training begins with it."""
    backbone = load(folder)
    _check_auxiliary(settings, backbone.representation, adaptation)
    if why := settings_problem(settings, adaptation):
        raise ValueError(why)
    seed_torch(torch.device("cpu"), seed)
    model = form.make_model(backbone, adaptation)
    if not settings.auxiliary_lm_weight:
        freeze_unread(model)
    if settings.reinit_layers:
        reinitialise(model, settings.reinit_layers)
    adapt(model, adaptation)
    return model


def _check_auxiliary(settings: Finetune, reading: str, adaptation: Adaptation) -> None:
    if settings.auxiliary_lm_weight and (reading != "causal" or adaptation.kind == "frozen"):
        found = "a frozen model" if adaptation.kind == "frozen" else f"one read {reading}"
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
        on_epoch: Callable[[TaskModel, int], None] | None,
    ) -> None:
        self.num_steps, self.progress, self.on_epoch = num_steps, progress, on_epoch
        self.per_epoch = num_steps // epochs

    def on_train_batch_end(
        self, trainer: pl.Trainer, module: pl.LightningModule, outputs: Any, batch: Any, step: int
    ) -> None:
        self.progress(step + 1, self.num_steps)
        if (
            self.on_epoch
            and (step + 1) % self.per_epoch == 0
            and isinstance(module, FinetuningModule)
        ):
            self.on_epoch(module.model, (step + 1) // self.per_epoch)
            module.train()


@torch.inference_mode()
def predict(model: TaskModel, form: TaskHead, data: Encoded, examples: Examples) -> np.ndarray:
    """[num_examples] predictions, as `TaskHead.answers` gives them."""
    model.eval()
    device = next(model.parameters()).device
    order = np.argsort(data.lengths, kind="stable")
    read: list[Any] = [None] * data.num_items
    for start in range(0, len(order), EVALUATION_BATCH):
        items = order[start : start + EVALUATION_BATCH]
        batch = {k: v.to(device) for k, v in form.collate(data, items).items()}
        for item, said in zip(items, form.respond(model, batch), strict=True):
            read[item] = said
    return form.answers(read, data, examples)
