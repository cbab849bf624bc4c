"""Attention masks, which give one network several representations."""

import torch
from torch import Tensor


def attention_mask_for(
    representation: str,
    native: str,
    input_ids: Tensor,
    attention_mask: Tensor | None,
    prefix_lengths: Tensor | None = None,
) -> Tensor | None:
    """The mask for a representation.

    Args:
        native: the representation that the network has without a mask.
        input_ids: [B, T].
        attention_mask: [B, T], 0 at padding; None without padding.
        prefix_lengths: [B] length of the bidirectional prefix, for `prefix`; None means all tokens.

    Returns:
        `attention_mask` itself for the native representation, so that the fastest attention kernel
        applies; otherwise [B, 1, T, T] bool, True where position i (rows) attends to position j
        (columns). All tokens attend to themselves, which avoids NaN at padding.
    """
    if representation == "prefix" and prefix_lengths is None:
        representation = "bidirectional"
    if representation == native:
        return attention_mask
    batch, length = input_ids.shape
    position = torch.arange(length, device=input_ids.device)
    if representation == "bidirectional":
        visible = torch.ones(batch, length, length, dtype=torch.bool, device=input_ids.device)
    else:
        visible = (position <= position[:, None]).expand(batch, length, length)
    if prefix_lengths is not None and representation == "prefix":
        visible = visible | (position < prefix_lengths[:, None, None])
    if attention_mask is not None:
        visible = visible & attention_mask[:, None, :].bool()
    return (visible | (position == position[:, None])).unsqueeze(1)
