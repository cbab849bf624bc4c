"""Soft prompts: trainable vectors before the embedded input.

Shapes: B sequences, T tokens, P vectors, E embedding size.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class SoftPrompt(nn.Module):
    """P trainable vectors that replace the embeddings of P tokens before an input."""

    def __init__(self, vectors: Tensor, token: int, time_first: bool = False) -> None:
        super().__init__()
        self.vectors = nn.Parameter(vectors)
        self.token = token
        """Any token but padding; its embedding is replaced."""
        self.is_waiting, self.time_first = False, time_first

    def __len__(self) -> int:
        return len(self.vectors)

    def before(
        self, input_ids: Tensor, attention_mask: Tensor | None, token_type_ids: Tensor | None
    ) -> tuple[Tensor, Tensor | None, Tensor | None]:
        """The inputs [B, T] with P tokens before them, [B, P + T].

        The next call of the embedding layer replaces the embeddings of these tokens.
        """
        self.is_waiting = True
        pad = (len(self), 0)
        mask = None if attention_mask is None else F.pad(attention_mask, pad, value=1)
        types = None if token_type_ids is None else F.pad(token_type_ids, pad)
        return F.pad(input_ids, pad, value=self.token), mask, types

    def replace(self, embedding: nn.Module, read: Any, embedded: Tensor) -> Tensor:
        """Forward hook of the embedding layer: [B, P + T, E], or [P + T, B, E] if `time_first`."""
        if not self.is_waiting:
            return embedded
        self.is_waiting = False
        time = 0 if self.time_first else 1
        shape = list(embedded.shape)
        shape[time] = len(self)
        vectors = self.vectors.to(embedded.dtype).unsqueeze(1 - time).expand(shape)
        rest = embedded.narrow(time, len(self), embedded.shape[time] - len(self))
        return torch.cat((vectors, rest), time)
