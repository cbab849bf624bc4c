"""The weighted losses of a task and of auxiliary objectives.

Shapes: K losses, the task's first; P trained parameters of the backbone.
"""

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor, nn

from harness.finetuning.auxiliary import Auxiliary
from harness.finetuning.auxiliary_batches import HOLDOUT, key_of, part_of
from harness.finetuning.inputs import Batch
from harness.finetuning.multitask import TASK, Loss
from harness.finetuning.task_model import TaskModel

Gradient = Sequence[Tensor | None]
"""Of each parameter, in its shape; null where a loss does not depend on it."""


class AuxiliaryLosses(nn.Module):
    """Adds weighted losses of auxiliary objectives to that of the task, and learns the weights.

    A learned weight is a share of the sum of all, softmax of K logits. After each update, a logit
    rises by the step size times the cosine of two gradients with respect to the backbone: of its
    own loss, and of the task's loss on a batch of the hold-out (ldery/TARTAN,
    simple_vision_tartan/tartan_plugin.py). The latter is computed with the task's own head, where
    TARTAN fits another one to its dev set.
    """

    initial: Tensor
    logits: Tensor

    def __init__(self, settings: Auxiliary) -> None:
        super().__init__()
        self.settings = settings
        self.register_buffer("initial", torch.tensor(settings.initial_weights))
        self.register_buffer("logits", self.initial.log())
        self.history: list[Tensor] = []
        """[K] weights of each update."""

    @property
    def weights(self) -> Tensor:
        """[K] current weights."""
        if not self.settings.is_learned:
            return self.initial
        return self.initial.sum() * self.logits.softmax(0)

    def total(self, model: TaskModel, loss: Loss, batch: Batch, own: Tensor) -> Tensor:
        """Scalar [] weighted sum of the losses of an update; then changes the weights, if learned.

        Args:
            loss: of the task, as called for the hold-out.
            batch: of the task, with those of the objectives, and of the hold-out if weights are
                learned.
            own: the task's loss on `batch`.
        """
        losses = [own, *self._of_objectives(model, batch)]
        weights = self.weights
        self.history.append(weights.clone())
        if self.settings.is_learned:
            body = [one for one in model.backbone.parameters() if one.requires_grad]
            held_out = part_of(batch, HOLDOUT) | {TASK: batch[TASK]}
            wanted = gradient(loss(model(held_out).float(), held_out), body)
            found = (gradient(one, body, keep=True) for one in losses)
            rises = torch.stack([cosine(one, wanted) for one in found])
            self.logits += self.settings.step_size * rises
        return (weights * torch.stack(losses)).sum()

    def _of_objectives(self, model: TaskModel, batch: Batch) -> Iterator[Tensor]:
        for index, one in enumerate(self.settings.objectives):
            made = part_of(batch, key_of(index)) | {TASK: batch[TASK]}
            yield model.token_loss(made, one.objective.representation)


def gradient(loss: Tensor, parameters: Sequence[Tensor], keep: bool = False) -> Gradient:
    """Gradient of a scalar [] with respect to `parameters`, without a change to them.

    Args:
        keep: whether the graph is needed again.
    """
    return torch.autograd.grad(loss, parameters, retain_graph=keep, allow_unused=True)


def cosine(one: Gradient, other: Gradient) -> Tensor:
    """Scalar cosine of two gradients [P], each of all parameters; 0 if one of them is 0."""
    norms = _product(one, one).sqrt() * _product(other, other).sqrt()
    return torch.where(norms > 0, _product(one, other) / norms, 0.0)


def _product(one: Gradient, other: Gradient) -> Tensor:
    pairs = zip(one, other, strict=True)
    found = [(a.float() * b.float()).sum() for a, b in pairs if a is not None and b is not None]
    return torch.stack(found).sum() if found else torch.zeros(())
