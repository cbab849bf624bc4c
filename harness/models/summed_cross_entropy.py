"""The sum of cross-entropies by a linear output layer, without the logits of all predictions.

A part of the logits is computed at a time, and its gradient at once (Hsu et al. 2024, Liger Kernel,
section 3.2; Wijmans et al. 2025, Cut Cross-Entropy).

Shapes: M predictions, H hidden size, V vocabulary.
"""

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

PART_OF_CPU = {torch.bfloat16: 2**24, torch.float32: 2**22}
"""Logits that are computed at once on a CPU: more do not fit its caches, and with fewer, the
gradients of the weights are added up more often."""
PART_OF_GPU = 4_096
"""Predictions whose logits are computed at once on a GPU; the number, 0.5 GB with V = 30,522, is
not measured."""
RARE = 1e-30
"""Probabilities below this are too close to the least number of bf16 and float32, 1e-38."""
MULTIPLE = {"cuda": 64}
"""On a GPU, rows are added to the output layer up to a multiple of this number. Matrix products
with 50,257 rows, GPT-2's vocabulary, took 31 of 74 ms of an update of GPT-2 on an H200, as they ran
with kernels that take any number (Karpathy 2023, nanoGPT, pads to 50,304, too)."""


class SummedCrossEntropy(torch.autograd.Function):
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
        """[], from states [M, H], weight [V, H], bias [V] and targets [M]."""
        kind = states.device.type
        with torch.autocast(kind, enabled=False):
            rounded, offset = _padded(weight.to(dtype), bias)
            compute = _sums_on_cpu if kind == "cpu" else _sums
            sums = compute(states.to(dtype), rounded, offset, targets)
        of_weight = sums.of_weight[: len(weight)].to(weight.dtype)
        of_bias = None
        if bias is not None and sums.of_bias is not None:  # rows that are added have one, too
            of_bias = sums.of_bias[: len(weight)]
        ctx.save_for_backward(sums.of_states.to(states.dtype), of_weight, of_bias)
        return sums.loss

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        """Of states [M, H], weight [V, H] and bias [V]; the others have none."""
        (scale,) = gradients
        scaled = (None if one is None else one * scale for one in ctx.saved_tensors)
        return (*scaled, None, None)


@dataclass
class _Sums:
    """The loss, [], and its gradients."""

    loss: Tensor
    of_states: Tensor
    """[M, H], in the precision of the states."""
    of_weight: Tensor
    """[V, H] in float32; at first not set."""
    of_bias: Tensor | None
    """[V] in float32."""


def _new_sums(states: Tensor, weight: Tensor, bias: Tensor | None) -> _Sums:
    device = states.device
    return _Sums(
        torch.zeros((), device=device),
        torch.empty_like(states),
        torch.empty(weight.shape, device=device),
        None if bias is None else torch.zeros(len(weight), device=device),
    )


def _sums_on_cpu(states: Tensor, weight: Tensor, bias: Tensor | None, targets: Tensor) -> _Sums:
    """Of states [M, H], weights [V, H] and bias [V] in one precision.

    Memory limits the speed. All parts share a buffer (a new one for each takes a fifth longer), in
    which the logits become probabilities and these the gradient; of each logit, an exponential is
    computed once.
    """
    sums = _new_sums(states, weight, bias)
    num_parts = math.ceil(len(states) * len(weight) / PART_OF_CPU[states.dtype])
    rows = max(1, math.ceil(len(states) / max(1, num_parts)))
    buffer = states.new_empty(min(rows, len(states)), len(weight))
    product = None if weight.dtype == torch.float32 else torch.empty_like(weight)
    ones = states.new_ones(1, len(buffer))
    pieces = (one.split(rows) for one in (states, targets, sums.of_states))
    for number, (part, target, of_part) in enumerate(zip(*pieces, strict=True)):
        gradient = buffer[: len(part)]
        if bias is None:
            torch.mm(part, weight.T, out=gradient)
        else:
            torch.addmm(bias, part, weight.T, out=gradient)
        torch.softmax(gradient, -1, out=gradient)
        place = torch.arange(len(part)), target
        probability = gradient[place].float()
        sums.loss += _nats(probability, part, weight, bias, target)
        gradient[place] = (probability - 1).to(gradient.dtype)
        torch.mm(gradient, weight, out=of_part)
        if product is None:
            sums.of_weight.addmm_(gradient.T, part, beta=min(number, 1))
        else:
            torch.mm(gradient.T, part, out=product)
            sums.of_weight.add_(product) if number else sums.of_weight.copy_(product)
        if sums.of_bias is not None:  # a sum over rows takes twice as long
            sums.of_bias += (ones[:, : len(part)] @ gradient)[0]
    return sums


def _nats(
    probability: Tensor, states: Tensor, weight: Tensor, bias: Tensor | None, targets: Tensor
) -> Tensor:
    """The sum of the cross-entropies of targets [M] with these probabilities [M]; where these are
    nearly 0, from the logits."""
    nats = -probability.log()
    is_rare = probability < RARE
    if is_rare.any():
        logits = F.linear(states[is_rare], weight, bias).float()
        nats[is_rare] = F.cross_entropy(logits, targets[is_rare], reduction="none")
    return nats.sum()


def _sums(states: Tensor, weight: Tensor, bias: Tensor | None, targets: Tensor) -> _Sums:
    """As `_sums_on_cpu`, with logits in float32 after the product."""
    sums = _new_sums(states, weight, bias)
    sums.of_weight.zero_()
    pieces = (one.split(PART_OF_GPU) for one in (states, targets, sums.of_states))
    for part, target, of_part in zip(*pieces, strict=True):
        logits = F.linear(part, weight, bias)
        logits = logits.log_softmax(-1, dtype=torch.float32)
        index = target[:, None]
        sums.loss -= logits.gather(1, index).sum()
        gradient = logits.exp_()  # softmax minus the target
        gradient.scatter_add_(1, index, gradient.new_full(index.shape, -1.0))
        if sums.of_bias is not None:
            sums.of_bias += gradient.sum(0)
        gradient = gradient.to(weight.dtype)
        torch.mm(gradient, weight, out=of_part)
        sums.of_weight += gradient.T @ part
    return sums


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
