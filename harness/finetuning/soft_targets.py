"""Learning a task from the outputs of a teacher.

Shapes: B examples, C outputs.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from torch import Tensor
from torch.nn import functional as F

from harness.finetuning.distillation import SoftTargetLoss
from harness.finetuning.inputs import Batch
from harness.models.backbone import Backbone

TEACHER = "teacher"
"""Key of a batch: outputs [B, C] of the teacher."""
OUTPUTS = "train_outputs.npy"
"""File of a teacher's outputs on its training examples."""


@dataclass(frozen=True)
class SoftTargets:
    """A teacher's outputs on the training examples of a task, and how they are learned."""

    outputs: np.ndarray
    """[num_examples, C] logits of classes, or [num_examples, 1] values."""
    settings: SoftTargetLoss
    network: Backbone | None = None
    """The teacher's, if its layers are learned."""

    @property
    def layer_epochs(self) -> int:
        """Epochs in which its layers are learned, before its outputs."""
        return self.settings.layers.epochs if self.settings.layers else 0


def read_soft_targets(
    folder: Path, settings: SoftTargetLoss, shape: tuple[int, int]
) -> SoftTargets:
    """The outputs that a teacher left in `folder`.

    Args:
        shape: [num_examples, C] of the student's task.

    Raises:
        ValueError: the teacher was trained on other examples.
    """
    outputs = np.load(folder / OUTPUTS)
    if outputs.shape != shape:
        raise ValueError(
            f"the outputs of the teacher must be {shape[0]} examples x {shape[1]}, as those of the "
            f"student, but are {' x '.join(map(str, outputs.shape))}"
        )
    return SoftTargets(outputs, settings)


def soft_target_loss(kind: str, outputs: Tensor, targets: Tensor, temperature: float) -> Tensor:
    """Scalar mean loss with respect to a teacher's outputs.

    Of classes T^2 x cross-entropy to the teacher's distribution, both softened by the temperature T
    (Hinton et al. 2015, section 2; at T = 1 Jiao et al. 2020, equation 10). Of values the squared
    error, where huawei-noah/Pretrained-Language-Model, TinyBERT, task_distill.py uses the labels.

    Args:
        outputs: [B, C] of the student.
        targets: [B, C] of the teacher.
    """
    if kind == "regression":
        return F.mse_loss(outputs, targets)
    return temperature**2 * F.cross_entropy(
        outputs / temperature, (targets / temperature).softmax(-1)
    )


def distilled_loss(
    loss: Callable[[Tensor, Batch], Tensor],
    kind: str,
    settings: SoftTargetLoss,
    outputs: Tensor,
    batch: Batch,
) -> Tensor:
    """Scalar weighted mean of the task's own loss and that of the soft targets.

    Args:
        loss: (outputs, batch) to the task's own mean loss.
        kind: of the task.
        outputs: [B, C] of the student for `batch`.
    """
    weight = settings.soft_target_weight
    soft = soft_target_loss(kind, outputs, batch[TEACHER], settings.temperature)
    return (1 - weight) * loss(outputs, batch) + weight * soft
