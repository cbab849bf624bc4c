"""The interface of models that are trained on a task."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar

from torch import Tensor, nn

from harness.finetuning.inputs import Batch
from harness.models.backbone import Backbone


class TaskModel(nn.Module, ABC):
    """A backbone, and task outputs computed from its states.

    Shapes: B rows, T tokens, M target tokens of a batch, H hidden size, C outputs, V vocabulary.
    """

    backbone: Backbone
    names_tokens: ClassVar[bool] = False
    """Whether outputs are those of the backbone's own token head."""
    predicts_tokens: bool = False
    """Whether auxiliary objectives read that token head."""
    unfreezing: Mapping[str, int] = MappingProxyType({})
    """Name of each parameter to the first epoch, from 0, in which it is trained; empty: all are
    trained from the first epoch."""

    @property
    def reads_token_head(self) -> bool:
        """Whether a loss depends on the backbone's own token head."""
        return self.names_tokens or self.predicts_tokens

    def forward(self, batch: Batch) -> Any:
        """Outputs for a batch, in the shape of `outputs` [B, ...]."""
        return self.outputs(batch, self.states(batch))

    @abstractmethod
    def states(self, batch: Batch) -> list[Tensor]:
        """States of the backbone: [B, T, H] for each order of the texts; of text output [M, H]."""

    @abstractmethod
    def outputs(self, batch: Batch, states: Sequence[Tensor]) -> Tensor:
        """Inputs of the head's loss and predictions: [B, C], [B, T, C] per token, [M, V] of text
        output.

        Args:
            states: of the method `states`.
        """

    def next_token_loss(self, batch: Batch, states: Sequence[Tensor]) -> Tensor:
        """Scalar mean next-token cross-entropy on the inputs, from `states` [B, T, H].

        Raises:
            ValueError: the model has text output, whose loss is that of next tokens already.
        """
        raise ValueError(
            "finetune.auxiliary_lm_weight is not supported for text output; set it to 0"
        )

    def token_loss(self, batch: Batch, representation: str) -> Tensor:
        """Scalar mean cross-entropy of the backbone's own token head on the `targets` [M] of an
        auxiliary objective's batch (`harness.finetuning.auxiliary_batches`).

        Raises:
            ValueError: the model has text output.
        """
        raise ValueError("finetune.auxiliary is not supported for text output; leave it out")


def without_dropout(module: nn.Module) -> None:
    """Sets evaluation mode for gradients: recurrent layers, which have no dropout, stay in training
    mode, as cuDNN, on GPUs, has no gradients of others."""
    module.eval()
    for part in module.modules():
        if isinstance(part, nn.RNNBase):
            part.train()
