"""Pooling: from the token states of an input to one vector.

Shapes: B examples, T tokens, H hidden size, K layers.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from harness.finetuning.protocol import UNSEEING
from harness.models import FAMILIES

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


def pooling_of(pooling: str, reading: str, family: str) -> str:
    """The declared pooling, with `native` resolved for a representation and a model family.

    Raises:
        ValueError: `cls` for a network whose first token attends only to itself, or `mean_sqrt_len`
            for one that has averaged its tokens.
    """
    if pooling == "mean_sqrt_len" and FAMILIES[family].kind == "averaging":
        raise ValueError(
            "protocol.pooling = mean_sqrt_len would scale a vector that is an average already by "
            f"the length of its text, as all states of a {family} are equal; set it to native"
        )
    if pooling == "cls" and reading in UNSEEING:
        raise ValueError(
            "protocol.pooling = cls uses the first token, which attends only to itself in a "
            f"{reading} model; set it to native, last, mean or max"
        )
    native = "ends" if family == "bilstm" else NATIVE[reading]
    return native if pooling == "native" else pooling


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


class ScalarMix(nn.Module):
    """Learned layer mix gamma sum_k softmax(w)_k h_k (Peters et al. 2018, section 3.2), initialised
    with w = 0 and gamma = 1 (allenai/allennlp, scalar_mix.py)."""

    def __init__(self, num_layers: int) -> None:
        super().__init__()
        self.weights = nn.Parameter(torch.zeros(num_layers))
        self.gamma = nn.Parameter(torch.ones(()))

    def forward(self, layers: Sequence[Tensor]) -> Tensor:
        """K states [B, T, H] to their mix [B, T, H]."""
        shares = self.weights.softmax(0)
        return self.gamma * torch.einsum("k,kbth->bth", shares, torch.stack(tuple(layers)))
