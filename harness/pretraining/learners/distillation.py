"""Distillation at pretraining: DistilBERT (Sanh et al. 2019), TinyBERT (Jiao et al. 2020), MiniLM
(Wang et al. 2020, 2021).

Shapes: B sequences, T tokens, M predictions, V vocabulary.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from transformers.modeling_outputs import BaseModelOutput

from harness.models.backbone import Backbone
from harness.pretraining.learners.attention_scores import return_attention
from harness.pretraining.learners.distillation_losses import LOSSES, Compared, projection
from harness.pretraining.learners.learner import (
    Learner,
    Predictions,
    cross_entropies,
    freeze_token_head,
    gather,
    network_inputs,
)
from harness.pretraining.objectives.distillation import Distillation
from harness.pretraining.objectives.loader import TensorBatch


class Distilled(Learner):
    """A student trained on its own objective and on the outputs of a frozen teacher.

    The teacher moves between devices with the learner, but it is neither trained nor saved, in
    checkpoints or at the end; a resumed run loads it again.

    Losses of weight 0 are not computed. With neither token loss nor soft targets the token head is
    not trained, so that held-out token metrics are meaningless and left out.
    """

    def __init__(
        self,
        student: Learner,
        teacher: Backbone,
        settings: Distillation,
        initializer_range: float,
    ) -> None:
        super().__init__(student.backbone)
        self.student, self.settings = student, settings
        self._teacher = (teacher.eval().requires_grad_(False),)
        weights = {name: float(getattr(settings, f"{name}_weight")) for name in ("token", *LOSSES)}
        self.weights = student.weights | weights
        self.compared = [name for name in LOSSES if weights[name]]
        if not weights["token"] and not weights["soft_target"]:
            freeze_token_head(self.backbone)
            self.metric_prefixes = {"token": None}
        self.project = None
        if "hidden" in self.compared:
            widths = self.backbone.hidden_size, teacher.hidden_size
            self.project = projection(*widths, initializer_range)
        self._record_outputs()

    @property
    def teacher(self) -> Backbone:
        """The frozen network."""
        return self._teacher[0]

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> "Distilled":
        self.teacher._apply(fn, recurse)
        return super()._apply(fn, recurse)

    def _record_outputs(self) -> None:
        """Hooks the student's backbone to return and record what the losses compare."""
        self.more = {"output_hidden_states": "hidden" in self.compared}
        if {"attention", "relation"} & set(self.compared):
            self.more["output_attentions"] = True
            for backbone in (self.backbone, self.teacher):
                return_attention(backbone.network)
        self.seen: list[BaseModelOutput] = []

        def request(_: nn.Module, args: Any, kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
            return args, kwargs | self.more

        def keep(_: nn.Module, args: Any, output: BaseModelOutput) -> None:
            self.seen = [output]

        self.backbone.register_forward_pre_hook(request, with_kwargs=True)
        self.backbone.register_forward_hook(keep)

    def predictions(self, batch: TensorBatch, component: int = 0) -> Predictions:
        """Those of the student."""
        return self.student.predictions(batch, component)

    def losses_of(self, predictions: Predictions, batch: TensorBatch) -> dict[str, Tensor]:
        """Loss name to its sum, a scalar []; only losses with a weight above 0."""
        sums = cross_entropies(predictions)
        if not self.weights["token"]:
            del sums["token"]
        outputs = self._compare(batch, predictions["token"][0])
        return sums | {name: LOSSES[name](outputs) for name in self.compared}

    def _compare(self, batch: TensorBatch, logits: Tensor) -> Compared:
        """Outputs of both networks; `logits` [M, V] are the student's."""
        with torch.no_grad():
            theirs = self.teacher(
                **network_inputs(batch), representation="bidirectional", **self.more
            )
            targets = logits  # not compared
            if "soft_target" in self.compared:
                states = gather(theirs.last_hidden_state, batch["positions"])
                targets = self.teacher.token_logits(states)
        real = batch.get("attention_mask", torch.ones_like(batch["input_ids"]))
        pair = (logits, targets)
        return Compared(self.seen.pop(), theirs, pair, self.settings, real.bool(), self.project)
