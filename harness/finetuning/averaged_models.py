"""Several fine-tuned networks as one model: their outputs or their weights averaged."""

from collections.abc import Iterable, Sequence
from typing import cast

import torch
from torch import Tensor, nn

from harness.finetuning.costs import stored
from harness.finetuning.inputs import Batch
from harness.finetuning.task_model import TaskModel


class AveragedOutputs(TaskModel):
    """The mean of the outputs of several models, in float32."""

    def __init__(self, members: Sequence[TaskModel]) -> None:
        super().__init__()
        self.backbone = members[0].backbone
        self.members = nn.ModuleList(members)
        self.may_abstain = any(bool(getattr(one, "may_abstain", False)) for one in members)
        """Whether a span may be none, as in `SpanFinder`."""

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
        return torch.stack([outputs.float() for outputs in each]).mean(0)


@torch.no_grad()
def averaged_weights(members: Iterable[TaskModel]) -> TaskModel:
    """A model whose trained weights, and statistics of features, are the means of those of
    `members`, in their shapes. What is not a floating-point number is that of the last member; two
    members are in memory at a time."""
    sums: dict[str, Tensor] = {}
    number, model = 0, None
    for member in members:
        number, model = number + 1, member
        for name, value in stored(member).items():
            sums[name] = sums[name] + value if name in sums else value.clone()
    assert model is not None
    for name, value in stored(model).items():
        if value.is_floating_point():
            value.copy_(sums[name] / number)
    return model
