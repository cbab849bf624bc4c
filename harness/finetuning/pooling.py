"""The pooling of a protocol, and the learned mix of layers below it.

Shapes: B examples, T tokens, H hidden size, K layers.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from harness.finetuning.protocol import UNSEEING
from harness.models import FAMILIES
from harness.models.pooling import native_pooling


def pooling_of(pooling: str, reading: str, family: str) -> str:
    """The declared pooling, with `native` resolved for a representation and a model family.

    Raises:
        ValueError: `cls` for a network whose first token attends only to itself, `mean_sqrt_len`
            for one that has averaged its tokens, or `word`, which pools no whole text.
    """
    if pooling == "word":
        raise ValueError(
            "protocol.pooling = word is for an output layer on tasks with marked_words; set it to "
            "native, last, mean or max"
        )
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
    return native_pooling(reading, family) if pooling == "native" else pooling


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
