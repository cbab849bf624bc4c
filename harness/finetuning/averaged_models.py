"""Several fine-tuned networks as one model: their outputs or their weights averaged."""

from collections.abc import Iterator, Sequence
from typing import cast

import torch
from torch import Tensor, nn
from torch.optim.swa_utils import AveragedModel

from harness.finetuning.inputs import Batch
from harness.finetuning.task_model import TaskModel


class AveragedOutputs(TaskModel):
    """The mean of the outputs of several models."""

    def __init__(self, members: Sequence[TaskModel]) -> None:
        super().__init__()
        self.backbone = members[0].backbone
        self.members = nn.ModuleList(members)

    @property
    def _each(self) -> list[TaskModel]:
        return [cast(TaskModel, member) for member in self.members]

    def states(self, batch: Batch) -> list[Tensor]:
        """Of all members in turn, each as in `TaskModel` [B, T, H]."""
        return [states for member in self._each for states in member.states(batch)]

    def outputs(self, batch: Batch, states: Sequence[Tensor]) -> Tensor:
        """The mean over the members, in their shape, such as [B, C]."""
        number = len(states) // len(self.members)
        parts = [states[start : start + number] for start in range(0, len(states), number)]
        each = [one.outputs(batch, own) for one, own in zip(self._each, parts, strict=True)]
        return torch.stack(each).mean(0)


def averaged_weights(members: Iterator[TaskModel]) -> TaskModel:
    """A model whose parameters are the means of those of `members`, in their shapes. Buffers are
    those of the first; only one member is kept at a time."""
    average = None
    for member in members:
        average = average or AveragedModel(member)
        average.update_parameters(member)
    assert average is not None
    return cast(TaskModel, average.module)
