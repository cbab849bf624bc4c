"""Trained position biases, as those of T5, in the order of memory that fused attention takes.

Shapes: A heads, T queries, S keys.
"""

from typing import Any

from torch import Tensor, nn


def put_heads_first(model: nn.Module) -> None:
    """Has the position biases of a model [1, A, T, S] lie in the memory of a GPU in the order of
    their axes.

    transformers looks them up as [T, S, A] and swaps the axes alone. Attention kernels on GPUs take
    no biases whose last axis is not contiguous: torch would compute products and a softmax in
    float32 instead, with all scores in memory, as with transformers 5.17. Release 5.23 copies the
    biases in each layer; here they are copied once.
    """
    for part in model.modules():
        table = getattr(part, "relative_attention_bias", None)
        if isinstance(table, nn.Embedding):
            table.register_forward_hook(_heads_first)


def _heads_first(table: nn.Module, read: Any, biases: Tensor) -> Tensor:
    """Forward hook of a table: the same [T, S, A], in the memory of [A, T, S]."""
    if not _has_fused_kernels(biases) or biases.ndim != 3:
        return biases
    return biases.permute(2, 0, 1).contiguous().permute(1, 2, 0)


def _has_fused_kernels(biases: Tensor) -> bool:
    """Not on a CPU, on which the memory of an adaptation is measured, too."""
    return not biases.is_cpu
