"""The Lightning module of pretraining: losses of a learner, optimiser, learning curve."""

import math
from collections.abc import Mapping
from functools import cached_property, reduce
from operator import add
from typing import Any, cast

import pytorch_lightning as pl
import torch
from torch import Tensor, nn
from torchmetrics import MeanMetric

from harness.pretraining import distributed
from harness.pretraining.learners.learner import Learner
from harness.pretraining.logged_metrics import Perplexity, taken, values
from harness.pretraining.objectives.loader import PREPARED_BATCHES, Step, TensorBatch, to_device
from harness.pretraining.optimization import configure, current_rate, parameter_groups
from harness.pretraining.recipes.pretrain import Pretrain
from harness.pretraining.schedule import checkpoint_steps
from harness.pretraining.trainer import log_figures, moved, seed_torch

DROPOUT = 100
"""Second element of the seeds of dropout, distinct from those of the batches."""
CURVE_POINTS = 200
"""Approximate number of rows of a loss curve."""
MAX_SECONDS_AT_ONCE = 0.1
"""Seconds of updates that are one batch for Lightning, whose work for a batch takes 1 to 2 ms."""


class PretrainingModule(pl.LightningModule):
    """Trains a learner on the weighted sum of its mean losses.

    Parameters that a subclass adds in its `__init__` are trained with those of the learner and are
    part of checkpoints; saved is the backbone of the learner alone.
    """

    loss_sum: Tensor

    def __init__(self, learner: Learner, spec: Pretrain, num_steps: int, seed: int) -> None:
        super().__init__()
        self.automatic_optimization = False  # losses are averaged over all micro-batches of a batch
        self.learner = learner
        self.spec, self.num_steps, self.seed, self.is_compiled = spec, num_steps, seed, False
        self.curve_every = max(1, num_steps // CURVE_POINTS)
        self.curve: list[tuple[int, int, float, float]] = []
        """(step, tokens, mean loss since the row before, learning rate)."""
        self.tokens, self.seconds = 0, 0.0
        self.timed_tokens = 0
        """Tokens of the updates that `seconds` covers: all before the current batch."""
        self.since = (0, 0.0)
        """Tokens and seconds at the last row of the curve."""
        # Sum of the losses since the curve's last row; rarely copied, as this synchronises the GPU.
        self.register_buffer("loss_sum", torch.zeros(()))
        self.logged = nn.ModuleDict()
        """Metrics of the update of a row of the curve, by loss, that are only logged:
        `<name>_loss`, `<name>_accuracy`, `<name>_perplexity`; without name for token accuracy and
        perplexity."""
        self.unsharded: tuple[PretrainingModule, ...] = ()  # a tuple hides it from torch
        """A copy with whole weights of a module that `shard` was called on."""
        self.held_out = nn.ModuleDict()
        """Held-out means by loss, with NaN if one is: `<name>_loss` and `<name>_accuracy`."""

    @cached_property
    def trained(self) -> list[nn.Parameter]:
        """The trained parameters: those of the learner, and then those that a subclass adds."""
        return [weight for weight in self.parameters() if weight.requires_grad]

    def configure_optimizers(self) -> Any:
        """The optimiser over all parameters, with its schedule."""
        spec, steps = self.spec, self.num_steps
        kept = checkpoint_steps(spec.checkpoint_fractions, steps)
        return configure(self, spec.optimizer, spec.schedule, steps, checkpoints=kept)

    def transfer_batch_to_device(self, batch: Any, device: torch.device, _: int) -> Any:
        """Moves a batch of training or validation."""
        if isinstance(batch, dict):
            return moved(batch, device)
        return [to_device(step, device) for step in batch]

    def num_updates_at_once(self, step: int) -> int:
        """Updates from `step`, from 0, until the next row of the curve or kept checkpoint, for at
        most MAX_SECONDS_AT_ONCE; one on several devices, which must agree."""
        if distributed.num_ranks() > 1 or not self.seconds:
            return 1
        kept = checkpoint_steps(self.spec.checkpoint_fractions, self.num_steps)
        row = self.curve_every * (step // self.curve_every + 1)
        end = min([row, *(one for one in kept if one > step)])
        fitting = int(MAX_SECONDS_AT_ONCE * self.global_step / self.seconds)
        return max(1, min(end - step, fitting, PREPARED_BATCHES))

    def training_step(self, steps: list[Step], index: int) -> None:
        """An update for each step."""
        for step in steps:
            self.update(step)

    def update(self, step: Step) -> None:
        """One update, over all micro-batches of a step; on several devices, over those of all.
        Lightning's profilers show its parts."""
        profiled = cast(Any, self.trainer).profiler.profile
        optimizer: Any = self.optimizers()
        scheduler: Any = self.lr_schedulers()
        ranks = (distributed.rank(),) if distributed.rank() else ()  # each has its own dropout
        seed_torch(self.device, self.seed, DROPOUT, self.global_step, *ranks)
        losses = []
        for part in step.parts:
            with profiled("forward"):
                loss = self(part, step)
            with profiled("backward"):  # `shard` averages gradients over the ranks
                self.manual_backward(loss * distributed.num_ranks() if self.unsharded else loss)
            losses.append(loss.detach())
        for loss in distributed.each_summed(losses):
            self.loss_sum += loss
        distributed.sum_gradients(self.trained)
        is_row = self._completes_row(self.global_step + 1)
        rate = current_rate(optimizer.param_groups, self.spec.optimizer)
        with profiled("optimizer"):
            norm = self._clip_gradients(is_row)
            optimizer.step()
            optimizer.zero_grad()
            scheduler.step()
        self.tokens += step.num_tokens
        if is_row:
            self._extend_curve(rate, float(distributed.whole(norm)))

    def _clip_gradients(self, measured: bool) -> Tensor:
        """Clips the gradients if the optimiser does; returns their norm [] before, or, without
        clipping and unless `measured`, NaN."""
        if max_norm := self.spec.optimizer.max_grad_norm:
            return torch.nn.utils.clip_grad_norm_(self.trained, max_norm)
        if not measured:
            return torch.tensor(math.nan)
        gradients = [weight.grad for weight in self.trained if weight.grad is not None]
        return torch.nn.utils.get_total_norm(gradients)

    def _completes_row(self, num_updates: int) -> bool:
        """Whether a row of the curve ends with this number of updates."""
        return num_updates % self.curve_every == 0 or num_updates == self.num_steps

    def forward(self, part: TensorBatch, step: Step) -> Tensor:
        """The loss [] of a micro-batch, by the call that `shard` hooks."""
        return self.loss(part, step)

    def loss(self, part: TensorBatch, step: Step) -> Tensor:
        """Contribution of one micro-batch to the loss of its batch, a scalar []."""
        measured = self._completes_row(self.global_step + 1)  # it costs time
        sums, hits = self.learner(part, step.component, measured)
        self._measure(sums, hits)
        weights = self.learner.weights
        means = (
            (weights[name] * value if name in weights else value) / max(1, step.counts[name])
            for name, value in sums.items()
        )
        return reduce(add, means)  # few operations: each takes about 1 % of a small update

    def _extend_curve(self, rate: float, norm: float) -> None:
        """Adds a row to the curve, and logs it with the norm of the gradients and the speed."""
        self.check_loss()
        since = self.global_step - (self.curve[-1][0] if self.curve else 0)
        loss = float(self.loss_sum) / since
        self.curve.append((self.global_step, self.tokens, loss, rate))
        self.loss_sum.zero_()
        figures = {"loss": loss, "learning_rate": rate, "gradient_norm": norm}
        tokens, seconds = self.since
        if self.seconds > seconds:
            figures["tokens_per_second"] = (self.timed_tokens - tokens) / (self.seconds - seconds)
        self.since = (self.timed_tokens, self.seconds)
        log_figures(self, **figures, **taken(self.logged))

    def check_loss(self) -> None:
        """Checks the losses since the last row of the curve.

        Raises:
            FloatingPointError: a loss is not finite.
        """
        if not torch.isfinite(self.loss_sum):
            raise FloatingPointError(
                f"the pretraining loss is not finite at step {self.global_step} of "
                f"{self.num_steps}; lower optimizer.learning_rate, lengthen the warmup, or set "
                "optimizer.max_grad_norm"
            )

    def _measure(self, sums: Mapping[str, Tensor], hits: Mapping[str, Tensor]) -> None:
        """Updates the metrics of an update with the sum [] of each loss over its targets [M], and
        whether each prediction is correct, [M] bool."""
        for name, right in hits.items():
            metric = self.learner.metric_prefixes.get(name, name)
            if name not in sums or metric is None or not len(right):
                continue
            prefix = f"{metric}_" if metric else ""
            # A value for each target: with NaN checks disabled, torchmetrics ignores weights.
            loss = (sums[name].detach() / len(right)).expand(len(right))
            self._logged(f"{prefix}accuracy").update(right.float())
            self._logged(f"{metric or name}_loss").update(loss)
            if name == "token":
                self._logged(f"{prefix}perplexity", Perplexity).update(loss)

    def validation_step(self, part: TensorBatch, index: int, dataloader_idx: int = 0) -> None:
        """Updates the held-out metrics; loader 0 has the output's batches, loader 1 the pairs.
        Several devices take turns."""
        if index % distributed.num_ranks() != distributed.rank():
            return
        component = len(self.spec.objectives) - 1
        for name, (loss, right) in self.learner.scores(part, component).items():
            metric = self.learner.metric_prefixes.get(name, name)
            if metric is not None and len(loss) and (name == "pair") == (dataloader_idx == 1):
                prefix = f"{metric}_" if metric else ""
                self._held_out(f"{prefix}loss").update(loss)
                if name == "token":
                    self._logged(f"{prefix}perplexity", Perplexity).update(loss)
                if name == "token" and "num_bytes" in part:
                    self._extend_bits_per_byte(loss, part["num_bytes"].sum())
                self._held_out(f"{prefix}accuracy").update(right.float())

    def on_validation_epoch_end(self) -> None:
        """Logs the held-out metrics, and the perplexity of the predicted tokens."""
        log_figures(self, "validation", **values(self.held_out), **taken(self.logged))

    def _extend_bits_per_byte(self, loss: Tensor, num_bytes: Tensor) -> None:
        """Bits per UTF-8 byte, for left-to-right models (causal, ELMo's forward LM).

        The bits of all targets [M], with end tokens and separators, are divided by the bytes of the
        text, so that tokenizers can be compared (Gao et al. 2020, The Pile, section 3.1). Three
        differences remain: unknown tokens hide text (results leave the number out where there are
        many), lower case hides case (results compare only networks that agree in it), and sequences
        of equally many tokens give more or less context. Other objectives have no bits per byte, as
        their losses are not the likelihood of the whole text.
        """
        bits = loss.double().sum() / math.log(2)
        self._held_out("bits_per_byte").update(bits / num_bytes, num_bytes)

    def _held_out(self, name: str) -> MeanMetric:
        if name not in self.held_out:
            self.held_out[name] = MeanMetric(math.nan, sync_on_compute=False).to(self.device)
        return cast(MeanMetric, self.held_out[name])

    def _logged(self, name: str, kind: type[MeanMetric] = MeanMetric) -> MeanMetric:
        if name not in self.logged:  # `check_loss` finds what is not finite
            metric = kind(nan_strategy="disable", sync_on_compute=False)
            self.logged[name] = metric.to(self.device)
        return cast(MeanMetric, self.logged[name])

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Adds curve, tokens and seconds to a checkpoint."""
        rows = [list(row) for row in self.curve]
        checkpoint["harness"] = {"curve": rows, "tokens": self.tokens, "seconds": self.seconds}
        if self.unsharded:
            checkpoint.update(distributed.whole(checkpoint))

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Restores curve, tokens and seconds, and shards the weights as those of the module."""
        if self.unsharded:
            groups = parameter_groups(self, self.spec.optimizer)
            weights = [weight for group in groups for weight in group["params"]]
            distributed.shard_checkpoint(checkpoint, self.state_dict(), weights)
        state = checkpoint["harness"]
        self.curve = [(row[0], row[1], row[2], row[3]) for row in state["curve"]]
        self.tokens, self.seconds = state["tokens"], state["seconds"]
        self.timed_tokens = self.tokens
        self.since = (self.tokens, self.seconds)

    def shard(self, device: str) -> None:
        """Gives each rank a part of the weights.

        Args:
            device: cpu or cuda.
        """
        self.unsharded = (cast(PretrainingModule, distributed.shard(self, device)),)

    def whole(self) -> "PretrainingModule":
        """The module with whole weights, on all ranks: itself unless `shard` was called."""
        if not self.unsharded:
            return self
        (copy,) = self.unsharded
        state: dict[str, Any] = {}
        self.on_save_checkpoint(state)
        copy.on_load_checkpoint(state)
        copy.load_state_dict(distributed.whole(self.state_dict()))
        copy.is_compiled = self.is_compiled
        return copy

    def figures(self) -> dict[str, float]:
        """Figures of the run by name: steps, tokens, seconds, losses and held-out metrics."""
        figures = {
            "steps": float(self.num_steps),
            "tokens": float(self.tokens),
            "seconds": self.seconds,
        }
        if self.curve:
            figures["train_loss"] = self.curve[-1][2]
            figures["tokens_per_second"] = self.tokens / self.seconds
        figures |= {"compiled": 1.0} if self.is_compiled else {}
        held_out = values(self.held_out)
        return figures | {f"validation_{name}": value for name, value in held_out.items()}


MODULES: dict[str, type[PretrainingModule]] = {}
"""Modules of plug-ins, by the names that `pretrain.module` takes."""
