"""Distillation at pretraining: DistilBERT (Sanh et al. 2019), TinyBERT (Jiao et al. 2020).

Shapes: B sequences, T tokens, M predictions, V vocabulary.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from transformers.modeling_outputs import BaseModelOutput

from harness.models.backbone import Backbone
from harness.pretraining.learners.attention_scores import return_scores
from harness.pretraining.learners.distillation_losses import LOSSES, Compared
from harness.pretraining.learners.learner import (
    READ,
    Answers,
    Learner,
    cross_entropies,
    freeze_token_head,
)
from harness.pretraining.objectives.loader import TensorBatch
from harness.pretraining.objectives.objective import Distillation


class Distilled(Learner):
    """A student that learns its own objective and what a frozen teacher makes of the same text.

    The teacher moves to other devices with the learner, but is no part of it otherwise: neither
    trained, nor in a checkpoint, nor in what is saved; a resumed run reads it again.

    A loss of weight 0 is not computed; where neither tokens nor soft targets are learned, the token
    head is not trained, and what the student says of held-out tokens means nothing.
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
        self.asked = [name for name in LOSSES if weights[name]]
        _check(self.backbone, teacher, self.asked)
        if not weights["token"] and not weights["soft_target"]:
            freeze_token_head(self.backbone)
            self.told = {"token": None}  # what an untrained head says means nothing
        self.project = None
        if "hidden" in self.asked:
            self.project = nn.Linear(self.backbone.hidden_size, teacher.hidden_size)
            nn.init.normal_(self.project.weight, std=initializer_range)
            nn.init.zeros_(self.project.bias)
        self._watch()

    @property
    def teacher(self) -> Backbone:
        return self._teacher[0]

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> "Distilled":
        self.teacher._apply(fn, recurse)
        return super()._apply(fn, recurse)

    def _watch(self) -> None:
        """Keeps what the student's backbone returns, with all that the losses compare."""
        self.more = {"output_hidden_states": "hidden" in self.asked}
        if "attention" in self.asked:
            self.more["output_attentions"] = True
            for backbone in (self.backbone, self.teacher):
                return_scores(backbone.network)
        self.seen: list[BaseModelOutput] = []

        def ask(_: nn.Module, args: Any, kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
            return args, kwargs | self.more

        def keep(_: nn.Module, args: Any, output: BaseModelOutput) -> None:
            self.seen = [output]

        self.backbone.register_forward_pre_hook(ask, with_kwargs=True)
        self.backbone.register_forward_hook(keep)

    def answers(self, batch: TensorBatch, component: int = 0) -> Answers:
        return self.student.answers(batch, component)

    def losses(self, batch: TensorBatch, component: int = 0) -> dict[str, Tensor]:
        answers = self.answers(batch, component)
        sums = cross_entropies(answers)
        if not self.weights["token"]:
            del sums["token"]
        compared = self._compare(batch, answers["token"][0])
        return sums | {name: LOSSES[name](compared) for name in self.asked}

    def _compare(self, batch: TensorBatch, logits: Tensor) -> Compared:
        inputs = {name: batch[name] for name in READ if name in batch}
        with torch.no_grad():
            told = self.teacher(**inputs, representation="bidirectional", **self.more)
            states = told.last_hidden_state.flatten(0, 1)[batch["positions"]]
            targets = self.teacher.token_logits(states) if "soft_target" in self.asked else logits
        mask = batch.get("attention_mask")
        real = torch.ones_like(batch["input_ids"]) if mask is None else mask
        temperature = self.settings.temperature
        pair = (logits, targets)
        return Compared(self.seen.pop(), told, pair, temperature, real.bool(), self.project)


def _check(student: Backbone, teacher: Backbone, asked: list[str]) -> None:
    """Raises ValueError if the student cannot be compared with the teacher in what is asked."""
    ours, theirs = student.network.config, teacher.network.config
    if "cosine" in asked and student.hidden_size != teacher.hidden_size:
        raise ValueError(
            "distillation.cosine_weight needs a student as wide as its teacher, but hidden_size is "
            f"{student.hidden_size}, and the teacher's {teacher.hidden_size}"
        )
    if "attention" in asked and ours.num_attention_heads != theirs.num_attention_heads:
        raise ValueError(
            "distillation.attention_weight needs as many heads as the teacher has, "
            f"{theirs.num_attention_heads}, but num_heads is {ours.num_attention_heads}"
        )
    mapped = "hidden" in asked or "attention" in asked
    if mapped and theirs.num_hidden_layers % ours.num_hidden_layers:
        raise ValueError(
            "distillation.hidden_weight and attention_weight need a teacher with a multiple of the "
            f"student's layers, but it has {theirs.num_hidden_layers}, and num_layers is "
            f"{ours.num_hidden_layers}"
        )
