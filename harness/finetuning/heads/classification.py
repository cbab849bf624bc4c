"""Classification and regression: a linear layer on the pooled vector of a text or a pair.

Shapes: B examples, C classes.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from torch import Tensor
from torch.nn import functional as F

from harness.finetuning.divergences import squared_differences, symmetric_divergences
from harness.finetuning.heads.head import TaskHead
from harness.finetuning.inputs import Batch, Encoded
from harness.tasks.examples import Examples


class Classification(TaskHead):
    """Cross-entropy over C classes."""

    def encode(self, examples: Examples) -> Encoded:
        """One row per example; with `both_orders` also the swapped pairs of symmetric tasks."""
        data = self.tokenized(examples.texts, examples.labels)
        if self.protocol.both_orders and self.task.symmetric:
            swapped = [(b, a) for a, b in examples.texts]
            return replace(data, swapped=self.tokenized(swapped, examples.labels))
        return data

    def loss(self, outputs: Tensor, batch: Batch) -> Tensor:
        """Mean cross-entropy of logits [B, C]."""
        return F.cross_entropy(outputs, batch["labels"])

    def divergences(self, moved: Tensor, clean: Tensor, batch: Batch) -> Tensor:
        """[B] symmetric divergences of logits [B, C]."""
        return symmetric_divergences(moved, clean)

    def decode(self, outputs: Tensor, batch: Batch) -> Sequence[Any]:
        """[B] class indices."""
        return list(outputs.argmax(1).tolist())


class Regression(Classification):
    """Mean squared error of one value per input."""

    num_outputs = 1

    def loss(self, outputs: Tensor, batch: Batch) -> Tensor:
        """Mean squared error of outputs [B, 1]."""
        return F.mse_loss(outputs.squeeze(-1), batch["labels"].to(outputs.dtype))

    def divergences(self, moved: Tensor, clean: Tensor, batch: Batch) -> Tensor:
        """[B] squared differences of outputs [B, 1]."""
        return squared_differences(moved, clean).squeeze(-1)

    def decode(self, outputs: Tensor, batch: Batch) -> Sequence[Any]:
        """[B] values."""
        return list(outputs.squeeze(-1).tolist())
