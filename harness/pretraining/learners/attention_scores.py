"""What attention computes before the softmax: transformers returns only probabilities.

Shapes: B sequences, T tokens, A heads, D head width.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel
from transformers.integrations.sdpa_attention import repeat_kv
from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

NAME = "harness_attention_scores"


class Attention(NamedTuple):
    """The attention of one layer."""

    scores: Tensor
    """[B, A, T, T] q k / sqrt(D), plus T5's biases of positions, before mask and softmax (Jiao et
    al. 2020, section 3.1)."""
    query: Tensor
    """[B, A, T, D], as `key` and `value`."""
    key: Tensor
    value: Tensor


def return_attention(network: PreTrainedModel) -> None:
    """Makes `output_attentions` of a network give the `Attention` of each layer; its states do not
    change.

    Raises:
        ValueError: the family has a custom attention.
    """
    if not network._can_set_attn_implementation():
        raise ValueError(
            "distillation.attention_weight and relations need a family with ordinary attention, "
            f"but {type(network).__name__} has a custom one"
        )
    ALL_ATTENTION_FUNCTIONS.register(NAME, _attend)
    ALL_MASK_ATTENTION_FUNCTIONS.register(NAME, ALL_MASK_ATTENTION_FUNCTIONS["eager"])
    network.set_attn_implementation(NAME)


def _attend(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    dropout: float = 0.0,
    position_bias: Tensor | None = None,
    **_: Any,
) -> tuple[Tensor, Attention]:
    """Values [B, T, A, D], and what they follow from, of queries [B, A, T, D], and of keys and
    values of as many heads, or of fewer, which groups of queries share.

    Args:
        attention_mask: [B, 1, T, T], to be added, or bool, True where a key is seen.
        position_bias: [1 or B, A, T, T], added to the scores.
    """
    groups = query.shape[1] // key.shape[1]
    key, value = repeat_kv(key, groups), repeat_kv(value, groups)
    scaling = query.shape[-1] ** -0.5 if scaling is None else scaling
    scores = torch.matmul(query, key.transpose(2, 3)) * scaling
    if position_bias is not None:
        scores = scores + position_bias
    masked = scores
    if attention_mask is not None and attention_mask.dtype == torch.bool:
        masked = scores.masked_fill(~attention_mask, torch.finfo(scores.dtype).min)
    elif attention_mask is not None:
        masked = scores + attention_mask
    shares = nn.functional.softmax(masked, dim=-1, dtype=torch.float32).to(query.dtype)
    shares = nn.functional.dropout(shares, p=dropout, training=module.training)
    mixed = torch.matmul(shares, value).transpose(1, 2).contiguous()
    return mixed, Attention(scores, query, key, value)
