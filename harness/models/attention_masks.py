"""Who sees whom: attention masks that give one backbone another reading."""

import torch
from torch import Tensor


def attention(
    reading: str,
    native: str,
    input_ids: Tensor,
    attention_mask: Tensor | None,
    prefix_lengths: Tensor | None = None,
) -> Tensor | None:
    """The mask that makes a network read its input as `reading`.

    Nothing but the padding [B, T] where the network reads so by itself (`native`), so that the
    fastest attention is taken; otherwise [B, 1, T, T] bool, True where position i (rows) sees
    position j (columns). A token always sees itself, so that padding gives no NaN.

    Args:
        input_ids: [B, T].
        attention_mask: [B, T], 0 at padding; none where nothing is padding.
        prefix_lengths: [B] tokens that are seen from everywhere, under `prefix`; none means all.
    """
    if reading == "prefix" and prefix_lengths is None:
        reading = "bidirectional"
    if reading == native:
        return attention_mask
    batch, length = input_ids.shape
    place = torch.arange(length, device=input_ids.device)
    if reading == "bidirectional":
        visible = torch.ones(batch, length, length, dtype=torch.bool, device=input_ids.device)
    else:
        visible = (place <= place[:, None]).expand(batch, length, length)
    if prefix_lengths is not None and reading == "prefix":
        visible = visible | (place < prefix_lengths[:, None, None])
    if attention_mask is not None:
        visible = visible & attention_mask[:, None, :].bool()
    return (visible | (place == place[:, None])).unsqueeze(1)
