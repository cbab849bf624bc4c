"""What is trained on a task: a backbone with something that answers."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar

from torch import Tensor, nn

from harness.finetuning.inputs import Batch
from harness.models.backbone import Backbone


class TaskModel(nn.Module, ABC):
    """A backbone, read, and what answers from its states."""

    backbone: Backbone
    names_tokens: ClassVar[bool] = False
    """Whether it answers with the network's own token head."""
    unfreezing: Mapping[str, int] = MappingProxyType({})
    """Parameter to the epoch, from 0, in which its training begins, where that is not the first
    for all."""

    def forward(self, batch: Batch) -> Any:
        """The outputs for a batch."""
        return self.outputs(batch, self.states(batch))

    @abstractmethod
    def states(self, batch: Batch) -> list[Tensor]:
        """What the backbone gives for each order of the texts."""

    @abstractmethod
    def outputs(self, batch: Batch, states: Sequence[Tensor]) -> Tensor:
        """What the head's loss and answers are made of."""

    def next_token_loss(self, batch: Batch, states: Sequence[Tensor]) -> Tensor:
        """Mean cross-entropy of naming the tokens of the inputs."""
        raise NotImplementedError
