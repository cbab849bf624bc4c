"""The interface of models that are trained on a task."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar

from torch import Tensor, nn

from harness.finetuning.inputs import Batch
from harness.models.backbone import Backbone


class TaskModel(nn.Module, ABC):
    """A backbone, and task outputs computed from its states."""

    backbone: Backbone
    names_tokens: ClassVar[bool] = False
    """Whether outputs are those of the backbone's own token head."""
    unfreezing: Mapping[str, int] = MappingProxyType({})
    """Name of each parameter to the first epoch, from 0, in which it is trained; empty: all are
    trained from the first epoch."""

    def forward(self, batch: Batch) -> Any:
        """Outputs for a batch."""
        return self.outputs(batch, self.states(batch))

    @abstractmethod
    def states(self, batch: Batch) -> list[Tensor]:
        """States of the backbone for each order of the texts."""

    @abstractmethod
    def outputs(self, batch: Batch, states: Sequence[Tensor]) -> Tensor:
        """Inputs of the head's loss and predictions."""

    def next_token_loss(self, batch: Batch, states: Sequence[Tensor]) -> Tensor:
        """Mean next-token cross-entropy on the inputs.

        Raises:
            NotImplementedError: the model has none.
        """
        raise NotImplementedError
