"""Learning the layers of a teacher on the inputs of a task, before its outputs.

Shapes: B rows, T tokens, N real tokens, H hidden size.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedTokenizerBase

from harness.finetuning.adaptation import Adaptation
from harness.finetuning.distillation import LayerDistillation
from harness.finetuning.heads.classifier import has_segments, initial_range
from harness.finetuning.inputs import Batch, orders
from harness.finetuning.soft_targets import SoftTargets
from harness.models import Size
from harness.models.backbone import Backbone
from harness.models.build import load
from harness.pretraining.learners.attention_scores import return_attention
from harness.pretraining.learners.distillation_losses import LOSSES, Compared, projection
from harness.pretraining.objectives.distillation import Distillation
from harness.pretraining.recipes.compatibility import layer_problems
from harness.pretraining.trainer import seed_torch

NETWORK = "teacher"
"""Folder of a teacher's fine-tuned network and its tokenizer."""


class TeacherLayers(nn.Module):
    """The frozen network of a teacher, and the loss of a student's layers with respect to it (Jiao
    et al. 2020, section 3.2, equation 11 without the prediction layer).

    The projection is trained with the student, and not kept.

    Raises:
        ValueError: the layers or heads of both do not correspond, or have no attention to learn.
    """

    def __init__(
        self,
        student: Backbone,
        teacher: Backbone,
        settings: LayerDistillation,
        initializer_range: float,
    ) -> None:
        super().__init__()
        for why in layer_problems(*settings.weights, _size(student), _size(teacher)):
            raise ValueError(why)
        self.settings = settings
        self._teacher = (teacher.eval().requires_grad_(False),)  # no module: never in training
        self.project: nn.Linear | None = None
        self.more = {"output_hidden_states": bool(settings.hidden_weight)}
        if settings.hidden_weight:
            widths = student.hidden_size, teacher.hidden_size
            self.project = projection(*widths, initializer_range)
        if settings.attention_weight:
            self.more["output_attentions"] = True
            for backbone in (student, teacher):
                return_attention(backbone.network)

    @property
    def teacher(self) -> Backbone:
        """The frozen network."""
        return self._teacher[0]

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> "TeacherLayers":
        self.teacher._apply(fn, recurse)
        return super()._apply(fn, recurse)

    def loss(self, student: Backbone, batch: Batch) -> Tensor:
        """Scalar weighted sum of the losses, each the mean over real tokens [N]; the mean over the
        orders of the texts."""
        found = [self._loss(student, one) for one in orders(batch)]
        return torch.stack(found).mean()

    def _loss(self, student: Backbone, batch: Batch) -> Tensor:
        ours = student(**_inputs(student, batch), **self.more)
        with torch.no_grad():
            theirs = self.teacher(**_inputs(self.teacher, batch), **self.more)
        real = batch["attention_mask"].bool()
        none = ours.last_hidden_state  # logits are not compared
        compared = Compared(ours, theirs, (none, none), Distillation(), real, self.project)
        weighted = zip(("hidden", "attention"), self.settings.weights, strict=True)
        sums = [weight * LOSSES[name](compared) for name, weight in weighted if weight]
        return torch.stack(sums).sum() / real.sum()


def save_network(backbone: Backbone, tokenizer: PreTrainedTokenizerBase, folder: Path) -> None:
    """Writes the network of a teacher, from whose layers others learn."""
    backbone.save(folder / NETWORK)
    tokenizer.save_pretrained(folder / NETWORK)


def read_network(folder: Path, tokenizer: PreTrainedTokenizerBase) -> Backbone:
    """The network that `save_network` left in `folder`.

    Raises:
        ValueError: it names tokens by other ids than `tokenizer`.
    """
    theirs = type(tokenizer).from_pretrained(folder / NETWORK)
    if theirs.get_vocab() != tokenizer.get_vocab():
        raise ValueError(
            "distillation.layers needs a teacher with the vocabulary of the student, but the "
            f"teacher's {len(theirs)} tokens differ from the student's {len(tokenizer)}"
        )
    return load(folder / NETWORK)


def _inputs(backbone: Backbone, batch: Batch) -> dict[str, Any]:
    """Arguments of a network that reads [B, T] tokens in both directions."""
    return {
        "input_ids": batch["input_ids"],
        "attention_mask": batch["attention_mask"],
        "token_type_ids": batch["token_type_ids"] if has_segments(backbone) else None,
        "representation": "bidirectional",
    }


def _size(backbone: Backbone) -> Size:
    """Layers, width and heads; the width of the feed-forward layers is not compared."""
    config = backbone.network.config
    width, heads = backbone.hidden_size, int(config.num_attention_heads)
    layers = int(config.num_hidden_layers)
    return Size(num_layers=layers, hidden_size=width, num_heads=heads, intermediate_size=width)


def layers_of_teacher(
    student: Backbone, soft: SoftTargets | None, adaptation: Adaptation, seed: int
) -> TeacherLayers | None:
    """The layers that a student learns from the teacher of its task; null for outputs alone.

    Raises:
        ValueError: as `TeacherLayers`, or an adaptation that does not train all weights.
    """
    if not (soft and soft.settings.layers and soft.network):
        return None
    if adaptation.kind != "full":  # as a search may choose
        raise ValueError(
            f"distillation.layers needs the adaptation full, but it is {adaptation.kind}"
        )
    seed_torch(torch.device("cpu"), seed)
    return TeacherLayers(student, soft.network, soft.settings.layers, initial_range(student))
