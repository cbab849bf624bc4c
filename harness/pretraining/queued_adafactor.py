"""Adafactor (Shazeer and Stern 2018) on a GPU, without waiting for it.

torch's optimiser reads two norms of each weight, to divide by them, and waits for the GPU each
time, some 500 times in an update of T5 base. Here they stay there.
"""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.optim import Adafactor


class QueuedAdafactor(Adafactor):
    """torch's Adafactor up to rounding, with the same state."""

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """An update of all weights that have gradients; returns what `closure` does."""
        result = None
        if closure is not None:
            with torch.enable_grad():
                result = closure()
        for group in self.param_groups:
            lists: list[list[Any]] = [[], [], [], [], [], []]
            self._init_group(group, *lists)
            items = list(zip(*lists, strict=True))
            for is_matrix in (True, False):
                some = [item for item in items if (item[1].ndim > 1) == is_matrix]
                if some:
                    _update(group, is_matrix, *map(list, zip(*some, strict=True)))
        return result


def _update(
    group: dict[str, Any],
    is_matrix: bool,
    weights: list[Tensor],
    gradients: list[Tensor],
    rows: list[Tensor],
    columns: list[Tensor],
    squares: list[Tensor],
    steps: list[Tensor],
) -> None:
    """An update of matrices, or of vectors; `steps` are on the CPU."""
    tiny, smallest = group["eps"]
    for step in steps:
        step += 1
    shares = [step.item() ** group["beta2_decay"] for step in steps]
    rates = [min(float(group["lr"]), step.item() ** -0.5) for step in steps]
    roots = [math.sqrt(weight.numel()) for weight in weights]
    sizes = _over_roots(weights, roots, smallest)
    torch._foreach_mul_(sizes, rates)
    if group["weight_decay"]:
        torch._foreach_mul_(weights, 1 - float(group["lr"]) * group["weight_decay"])
    if is_matrix:
        found = _of_matrices(gradients, rows, columns, shares, tiny)
    else:
        torch._foreach_lerp_(squares, torch._foreach_mul(gradients, gradients), shares)
        found = [square.clone() for square in squares]
    torch._foreach_clamp_min_(found, tiny * tiny)
    torch._foreach_rsqrt_(found)
    torch._foreach_mul_(found, gradients)
    clips = _over_roots(found, [root * group["d"] for root in roots], 1.0)
    for weight, change, factor in zip(
        weights, found, torch._foreach_div(sizes, clips), strict=True
    ):
        weight.addcmul_(change, factor, value=-1)


def _over_roots(tensors: list[Tensor], roots: list[float], least: float) -> list[Tensor]:
    """The norm of each tensor, divided by a number, [], but at least `least`."""
    norms = list(torch._foreach_norm(tensors))
    torch._foreach_div_(norms, roots)
    torch._foreach_clamp_min_(norms, least)
    return norms


def _of_matrices(
    gradients: list[Tensor],
    rows: list[Tensor],
    columns: list[Tensor],
    shares: list[float],
    tiny: float,
) -> list[Tensor]:
    """The mean squares [..., N, M] of gradients by their means over rows and columns, updated."""
    for axis, means in ((-1, rows), (-2, columns)):
        norms = [torch.norm(gradient, dim=axis, keepdim=True) for gradient in gradients]
        torch._foreach_mul_(norms, norms)
        torch._foreach_div_(norms, [float(gradient.shape[axis]) for gradient in gradients])
        torch._foreach_lerp_(means, norms, shares)
    found = [row @ column for row, column in zip(rows, columns, strict=True)]
    totals = [row.mean(dim=-2, keepdim=True) for row in rows]
    torch._foreach_clamp_min_(totals, tiny)
    torch._foreach_div_(found, totals)
    return found
