"""Token heads that end with a linear layer, and their cross-entropy without the logits of a batch.

Shapes: M predictions, H hidden size, V vocabulary.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from harness.models.summed_cross_entropy import SummedCrossEntropy

LOGITS_AT_ONCE = 2**24
"""Logits that are in memory together where no gradients are computed."""


def _identity(states: Tensor) -> Tensor:
    return states


@dataclass(frozen=True)
class LinearHead:
    """A function of [..., H] states to [..., V] logits whose last step is linear."""

    weight: Tensor
    """[V, H]."""
    bias: Tensor | None = None
    """[V]."""
    transform: Callable[[Tensor], Tensor] = _identity
    """The steps before it."""

    def __call__(self, states: Tensor) -> Tensor:
        """[..., V] logits."""
        return F.linear(self.transform(states), self.weight, self.bias)

    def cross_entropy(self, states: Tensor, targets: Tensor) -> Tensor:
        """Scalar sum of the cross-entropies of `targets` [M] by `states` [M, H].

        Equals that of the logits up to rounding, but the memory does not have to hold all.
        """
        return self._cross_entropy(self.transform(states), targets)

    def cross_entropy_and_hits(self, states: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        """As `cross_entropy`, and whether the most likely token is the target, [M] bool."""
        states = self.transform(states)
        hits = self._most_likely(states) == targets
        return self._cross_entropy(states, targets), hits

    def _cross_entropy(self, states: Tensor, targets: Tensor) -> Tensor:
        """Of transformed states [M, H]."""
        device = states.device.type
        dtype = states.dtype
        if torch.is_autocast_enabled(device):
            dtype = torch.get_autocast_dtype(device)
        loss: Tensor = SummedCrossEntropy.apply(states, self.weight, self.bias, targets, dtype)
        return loss

    @torch.no_grad()
    def _most_likely(self, states: Tensor) -> Tensor:
        """[M] the most likely token of each of the transformed states [M, H]."""
        parts = states.split(max(1, LOGITS_AT_ONCE // len(self.weight)))
        return torch.cat([most_likely(F.linear(one, self.weight, self.bias)) for one in parts])


def linear_head(
    layer: Any, transform: Callable[[Tensor], Tensor] = _identity, bias: Tensor | None = None
) -> Callable[[Tensor], Tensor]:
    """The head whose last step is `layer`, of which the weights [V, H] are known if it is linear;
    `peft` wraps one that is a target of LoRA, and adds to its outputs.

    Args:
        bias: [V], of a layer that has none; null: that of the layer, if any.
    """
    if isinstance(layer, nn.Linear):
        return LinearHead(layer.weight, layer.bias if bias is None else bias, transform)
    return lambda states: layer(transform(states)) + (0 if bias is None else bias)


def most_likely(logits: Tensor) -> Tensor:
    """[...] the index of the largest of [..., V] logits. `argmax` of bf16 takes four times as long
    on a CPU."""
    return logits.max(-1).indices
