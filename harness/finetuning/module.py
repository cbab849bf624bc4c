"""The Lightning module of fine-tuning, its batches and its callback."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from time import monotonic
from typing import Any

import pytorch_lightning as pl
import torch
from torch import Tensor
from torch.utils.data import IterableDataset

from harness.finetuning.auxiliary_losses import AuxiliaryLosses
from harness.finetuning.epoch_rates import EpochRates
from harness.finetuning.inputs import Batch
from harness.finetuning.methods.layerwise import begin_epoch, learning_rate_factors
from harness.finetuning.methods.rank_budget import RankBudget
from harness.finetuning.multitask import TASK, Loss, MultitaskModel
from harness.finetuning.protocol import Finetune
from harness.finetuning.sift import Divergences, adversarial_divergence
from harness.finetuning.starting_point import DecayToStart, Mixout
from harness.finetuning.task_model import TaskModel
from harness.finetuning.teacher_layers import TeacherLayers
from harness.finetuning.used_embeddings import UsedEmbeddings
from harness.pretraining.module import MAX_SECONDS_AT_ONCE
from harness.pretraining.optimization import configure
from harness.pretraining.optimizer import Optimizer
from harness.pretraining.schedule import Schedule
from harness.pretraining.trainer import log_figures, moved, seed_torch

MAX_GRAD_NORM = 1.0
"""Norm to which gradients are clipped, as BERT's are (google-research/bert optimization.py)."""
LOGGED_POINTS = 50
"""Approximate number of losses that a run logs."""
OnEpoch = Callable[[MultitaskModel, int], Mapping[str, float]]
"""Called with the model and the epoch, from 1; returns scores on the hold-out by metric, the main
one first, without those that are undefined."""


class FinetuningModule(pl.LightningModule):
    """Minimises the task loss plus, each with a weight, the next-token loss on the inputs (Radford
    et al. 2018, equation 5) or the losses of auxiliary objectives, and the divergence of SiFT (He
    et al. 2021, section 4). With the layers of a teacher, the first epochs minimise their loss
    alone."""

    def __init__(
        self,
        model: TaskModel,
        loss: Loss,
        finetune: Finetune,
        num_steps: int,
        seed: int,
        used: UsedEmbeddings | None = None,
        divergences: Divergences | None = None,
        layers: TeacherLayers | None = None,
        ranks: RankBudget | None = None,
    ) -> None:
        """For `divergences`, which `finetune.sift_weight` needs, see `sift`.

        Args:
            layers: of a teacher, learned first; null: none.
            ranks: of AdaLoRA, reduced after each update; null: none.
        """
        super().__init__()
        self.automatic_optimization = False  # a batch of Lightning holds several updates
        self.used = used
        self.model, self.loss, self.finetune = model, loss, finetune
        self.divergences, self.layers, self.ranks = divergences, layers, ranks
        self.layer_epochs = layers.settings.epochs if layers else 0
        """The first epochs of `finetune`, in which the layers are learned."""
        self.num_steps, self.seed = num_steps, seed
        self.auxiliary = AuxiliaryLosses(finetune.auxiliary) if finetune.auxiliary else None
        backbone, chance = model.backbone, finetune.mixout
        self.mixout = Mixout(backbone, chance) if chance else None
        self.decay = DecayToStart(backbone) if finetune.decay_toward else None
        self.losses: list[Tensor] = []
        self.log_every = max(1, num_steps // LOGGED_POINTS)
        self.updates, self.seconds = 0, 0.0
        """Updates that are done, and what they took."""
        self.per_epoch = max(1, num_steps // finetune.epochs)
        self.rates = EpochRates(finetune, self.per_epoch)

    def transfer_batch_to_device(self, batches: Any, device: torch.device, _: int) -> Any:
        """The tensors [batch, ...] of the batches of several updates on `device`, but the task, for
        which the program would wait when it reads it."""
        read = [{name: batch[name] for name in (TASK,) if name in batch} for batch in batches]
        return [moved(batch, device) | own for batch, own in zip(batches, read, strict=True)]

    def num_updates_at_once(self, step: int) -> int:
        """Updates from `step`, from 0, to the end of the epoch, for at most
        MAX_SECONDS_AT_ONCE."""
        fitting = int(MAX_SECONDS_AT_ONCE * self.updates / self.seconds) if self.seconds else 1
        return max(1, min(fitting, self.per_epoch - step % self.per_epoch))

    def training_step(self, batches: list[Batch], index: int) -> None:
        """An update for each batch, of tensors [batch, ...]."""
        begin = monotonic()
        for batch in batches:
            self.update(batch)
        self.seconds += monotonic() - begin

    def update(self, batch: Batch) -> None:
        """One update, on tensors [batch, ...]; logs the mean loss of the last ones every
        `log_every`."""
        optimizer: Any = self.optimizers()
        scheduler: Any = self.lr_schedulers()
        loss = self.update_loss(batch, self.updates)
        self.rates.scale(optimizer, self.updates)
        rate = max(group["lr"] for group in optimizer.param_groups)
        with torch.autocast(self.device.type, enabled=False):  # is for the forward pass alone
            self.manual_backward(loss)
            optimizer.step()
            optimizer.zero_grad()
            scheduler.step()
        self.updates += 1
        if self.updates % self.log_every == 0:
            mean = torch.stack(self.losses[-self.log_every :]).mean()
            log_figures(self, loss=float(mean), learning_rate=rate)

    def update_loss(self, batch: Batch, step: int) -> Tensor:
        """Loss [] of an update; its dropout depends on the seed and `step` alone."""
        if step % self.per_epoch == 0:
            begin_epoch(self.model, step // self.per_epoch)
        seed_torch(self.device, self.seed, step)
        if self.mixout:
            self.mixout.mix()
        if self.layers and step < self.layer_epochs * self.per_epoch:
            loss = self.layers.loss(self.model.backbone, batch)
            self.losses.append(loss.detach())
            return loss
        states = self.model.states(batch)
        outputs = self.model.outputs(batch, states).float()
        loss = self.loss(outputs, batch)
        self.losses.append(loss.detach())
        if weight := self.finetune.auxiliary_lm_weight:
            loss = loss + weight * self.model.next_token_loss(batch, states)
        if self.finetune.sift_weight and self.divergences:
            divergence = adversarial_divergence(self.model, self.divergences, outputs, batch)
            loss = loss + self.finetune.sift_weight * divergence
        if self.auxiliary:
            loss = self.auxiliary.total(self.model, self.loss, batch, loss)
        return loss + self.ranks.penalty() if self.ranks else loss

    def on_after_backward(self) -> None:
        """Lightning's hook, before the gradient is clipped."""
        if self.mixout:
            self.mixout.restore()

    def on_before_optimizer_step(self, optimizer: Any) -> None:
        """Lightning's hook, after that of callbacks, which see gradients before they are
        clipped."""
        weights = [weight for group in optimizer.param_groups for weight in group["params"]]
        torch.nn.utils.clip_grad_norm_(weights, MAX_GRAD_NORM)

    def configure_optimizers(self) -> Any:
        """The optimiser and its schedule, in Lightning's format."""
        settings = Optimizer(
            kind=self.finetune.optimizer or "adamw",
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
        project = self.layers.project if self.layers else None
        trained = torch.nn.ModuleList([self.model, project]) if project else self.model
        found = configure(trained, settings, schedule, self.num_steps, factors)
        if self.used:
            found["optimizer"].register_step_pre_hook(self.used.count_decay)
        if self.decay:
            found["optimizer"].register_step_post_hook(self.decay.after_step)
        if self.ranks:
            found["optimizer"].register_step_post_hook(self.ranks.reduce)
        return found


class Runs(IterableDataset[list[Batch]]):
    """Batches of consecutive updates in lists, each of which is a batch for Lightning, whose work
    for a batch takes half a millisecond.

    Args:
        length: number of updates from a step, from 0.
    """

    def __init__(self, batches: Iterable[Batch], length: Callable[[int], int]) -> None:
        self.batches, self.length = batches, length

    def __iter__(self) -> Iterator[list[Batch]]:
        batches, step = iter(self.batches), 0
        while run := list(islice(batches, self.length(step))):
            yield run
            step += len(run)


class EpochCallback(pl.Callback):
    """Reports progress after each batch of updates, and after each epoch of the examples calls
    `on_epoch` and logs its scores."""

    def __init__(
        self, progress: Callable[[int, int], None], on_epoch: OnEpoch | None = None
    ) -> None:
        self.progress, self.on_epoch = progress, on_epoch

    def on_train_batch_end(
        self, trainer: pl.Trainer, module: Any, outputs: Any, batch: Any, step: int
    ) -> None:
        """Lightning's hook."""
        self.progress(module.updates, module.num_steps)
        epoch, rest = divmod(module.updates, module.per_epoch)
        epoch -= module.layer_epochs
        if self.on_epoch and epoch > 0 and not rest:
            scores = self.on_epoch(module.model, epoch)
            log_figures(module, "holdout", **scores)
            module.rates.after_epoch(next(iter(scores.values()), -math.inf))
            module.train()  # scoring on the hold-out leaves it in evaluation mode
