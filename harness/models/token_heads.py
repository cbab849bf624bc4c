"""Token heads that end with a linear layer, and their cross-entropy without the logits of a batch.

Shapes: M predictions, H hidden size, V vocabulary.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from harness.models.summed_cross_entropy import SummedCrossEntropy


def _identity(states: Tensor) -> Tensor:
    return states


@dataclass(frozen=True)
class LinearHead:
    """A function of [..., H] states to [..., V] logits whose last step is a linear layer."""

    output: nn.Linear
    transform: Callable[[Tensor], Tensor] = _identity
    """The steps before it."""

    def __call__(self, states: Tensor) -> Tensor:
        """[..., V] logits."""
        logits: Tensor = self.output(self.transform(states))
        return logits

    def cross_entropy(self, states: Tensor, targets: Tensor) -> Tensor:
        """Scalar sum of the cross-entropies of `targets` [M] by `states` [M, H].

        Equals that of the logits up to rounding, but the memory does not have to hold all.
        """
        states = self.transform(states)
        device = states.device.type
        dtype = states.dtype
        if torch.is_autocast_enabled(device):
            dtype = torch.get_autocast_dtype(device)
        loss: Tensor = SummedCrossEntropy.apply(
            states, self.output.weight, self.output.bias, targets, dtype
        )
        return loss

    @torch.no_grad()
    def most_likely(self, states: Tensor, num_logits: int) -> Tensor:
        """[M] the most likely token of each of `states` [M, H].

        Args:
            num_logits: that are computed at once.
        """
        parts = states.split(max(1, num_logits // self.output.out_features))
        return torch.cat([most_likely(self(part)) for part in parts])


def most_likely(logits: Tensor) -> Tensor:
    """[...] the index of the largest of [..., V] logits. `argmax` of bf16 takes four times as long
    on a CPU."""
    return logits.max(-1).indices
