"""Pooling: from the token states of an input to one vector.

Shapes: B examples, T tokens, H hidden size.
"""

import torch
from torch import Tensor

NATIVE = {
    "bidirectional": "cls",  # Devlin et al. 2019, section 3
    "causal": "last",  # Radford et al. 2018, section 3.2
    "right_to_left": "cls",  # the state that has read the whole text
    "prefix": "last",  # the state that predicts the first target token
    "encoder_decoder": "last",  # Lewis et al. 2020, section 3.1
    "bilm": "ends",
    "cbow": "mean",
    "skipgram": "mean",
}
"""Representation to its `native` pooling, except that of a `bilstm`, whose first state has read the
text from the right only."""


def native_pooling(reading: str, family: str) -> str:
    """The pooling of a family read in a representation where none is declared."""
    return "ends" if family == "bilstm" else NATIVE[reading]


def pool(states: Tensor, mask: Tensor, pooling: str) -> Tensor:
    """[B, T, H] states to [B, H] vectors.

    Args:
        mask: [B, T], 1 for real tokens, padded on the right.
        pooling: `cls`, the first token; `last`, the last real token; `ends`, the forward half of
            the last and the backward half of the first (biLM, biLSTM); `mean` or `max` over real
            tokens; `mean_sqrt_len`, their sum over the root of their number; `weighted_mean`, with
            weights 1, 2, ... (Muennighoff 2022, SGPT).
    """
    if pooling == "cls":
        return states[:, 0]
    if pooling in ("last", "ends"):
        last = states[torch.arange(len(states), device=states.device), mask.sum(1) - 1]
        half = states.shape[-1] // 2
        return last if pooling == "last" else torch.cat((last[:, :half], states[:, 0, half:]), -1)
    real = mask.unsqueeze(-1).bool()
    if pooling == "max":
        return states.masked_fill(~real, torch.finfo(states.dtype).min).amax(1)
    states = states.masked_fill(~real, 0)
    if pooling == "mean_sqrt_len":
        return states.sum(1) / real.sum(1).sqrt()
    if pooling == "weighted_mean":
        places = torch.arange(1, states.shape[1] + 1, device=states.device)
        weights = real * places.unsqueeze(-1)
        return (states * weights).sum(1) / weights.sum(1)
    return states.sum(1) / real.sum(1)
