"""Noise on the token embeddings of inputs, in training alone.

Shapes: B sequences, T tokens, E embedding size.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from harness.models.token_tables import token_tables

Noise = Callable[[Tensor, Tensor], Tensor]
"""(tokens [B, T], their embeddings [B, T, E]) to what is added to the embeddings."""


def gaussian(tokens: Tensor, embedded: Tensor, *, share: float) -> Tensor:
    """[B, T, E] noise of the standard deviation `share` times the root mean square of each
    embedding: noise of `share` on embeddings of root mean square 1, scaled back."""
    size = embedded.detach().square().mean(-1, keepdim=True).sqrt()
    return share * size * torch.randn_like(embedded)


def uniform(tokens: Tensor, embedded: Tensor, *, alpha: float, padding: int) -> Tensor:
    """[B, T, E] noise from -alpha / sqrt(L E) to alpha / sqrt(L E), where L is the number of tokens
    of a row without padding (Jain et al. 2023, NEFTune, algorithm 1)."""
    lengths = (tokens != padding).sum(1)[:, None, None].clamp(min=1)
    bounds = alpha / (lengths * embedded.shape[-1]).sqrt()
    return bounds * torch.empty_like(embedded, requires_grad=False).uniform_(-1, 1)


def perturb(network: Any, noise: Noise) -> None:
    """Has a network in training add `noise` to the token embeddings of its inputs."""
    for table in token_tables(network):
        table.register_forward_hook(partial(_add, noise))


def _add(noise: Noise, table: nn.Module, read: tuple[Tensor], embedded: Tensor) -> Tensor:
    return embedded + noise(read[0], embedded) if table.training else embedded
