"""Token heads that end with a linear layer, and their cross-entropy without the logits of a batch.

Shapes: M predictions, H hidden size, V vocabulary.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

PART_OF_CPU, PART_OF_GPU = 256, 4_096
"""Predictions whose logits are computed at once. On a CPU, 128 and 512 took as long, or longer; the
number for GPUs, 0.5 GB with V = 30,522, is not measured."""
MULTIPLE = {"cuda": 64}
"""On a GPU, rows are added to the output layer up to a multiple of this number. Matrix products
with 50,257 rows, GPT-2's vocabulary, took 31 of 74 ms of an update of GPT-2 on an H200, as they ran
with kernels that take any number (Karpathy 2023, nanoGPT, pads to 50,304, too)."""


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

        Equals that of the logits up to rounding. A part of the logits is computed at a time, and
        its gradient at once, so that the memory does not have to hold all (Hsu et al. 2024, Liger
        Kernel, section 3.2; Wijmans et al. 2025, Cut Cross-Entropy).
        """
        states = self.transform(states)
        device = states.device.type
        dtype = states.dtype
        if torch.is_autocast_enabled(device):
            dtype = torch.get_autocast_dtype(device)
        loss: Tensor = _SummedCrossEntropy.apply(
            states, self.output.weight, self.output.bias, targets, dtype
        )
        return loss


class _SummedCrossEntropy(torch.autograd.Function):
    """The sum of cross-entropies, whose gradients are computed with it.

    Logits and their gradients are rounded to `dtype` as by autocast; sums over the vocabulary and
    over parts are in float32.
    """

    @staticmethod
    def forward(
        ctx: Any,
        states: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        targets: Tensor,
        dtype: torch.dtype,
    ) -> Tensor:
        with torch.autocast(states.device.type, enabled=False):
            rounded, offset = _padded(weight.to(dtype), bias)
            rows = PART_OF_CPU if states.device.type == "cpu" else PART_OF_GPU
            loss = torch.zeros((), device=states.device)
            found: list[Tensor] = []
            of_weight = torch.zeros(rounded.shape, device=weight.device)
            of_bias = None if bias is None else torch.zeros(len(rounded), device=bias.device)
            for part, target in zip(states.split(rows), targets.split(rows), strict=True):
                part = part.to(dtype)
                logits = F.linear(part, rounded, offset)
                logits = logits.log_softmax(-1, dtype=torch.float32)
                index = target[:, None]
                loss -= logits.gather(1, index).sum()
                gradient = logits.exp_()  # softmax minus the target
                gradient.scatter_add_(1, index, gradient.new_full(index.shape, -1.0))
                if of_bias is not None:
                    of_bias += gradient.sum(0)
                gradient = gradient.to(dtype)
                found.append((gradient @ rounded).to(states.dtype))
                of_weight += gradient.T @ part
        of_weight = of_weight[: len(weight)]
        of_bias = None if of_bias is None else of_bias[: len(weight)]
        of_states = torch.cat(found) if found else torch.zeros_like(states)
        ctx.save_for_backward(of_states, of_weight.to(weight.dtype), of_bias)
        return loss

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        (scale,) = gradients
        scaled = (None if one is None else one * scale for one in ctx.saved_tensors)
        return (*scaled, None, None)


def _padded(weight: Tensor, bias: Tensor | None) -> tuple[Tensor, Tensor | None]:
    """The output layer [V, H] and its bias in the same precision, on a GPU with rows without
    probability that make V a multiple."""
    offset = None if bias is None else bias.to(weight.dtype)
    extra = -len(weight) % MULTIPLE.get(weight.device.type, 1)
    if not extra:
        return weight, offset
    if offset is None:
        offset = weight.new_zeros(len(weight))
    return F.pad(weight, (0, 0, 0, extra)), F.pad(offset, (0, extra), value=-torch.inf)
