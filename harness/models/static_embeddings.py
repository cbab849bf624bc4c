"""Static word vectors, which do not depend on context.

Shapes: B sequences, T tokens, H hidden size, V vocabulary.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import PreTrainedConfig, PreTrainedModel
from transformers.modeling_outputs import BaseModelOutput

from harness.models import Architecture, Size
from harness.models.blueprints import Blueprint, Tokens
from harness.models.token_heads import linear_head


class StaticConfig(PreTrainedConfig):
    """Configuration of `StaticVectors`."""

    model_type = "harness_static"

    def __init__(
        self,
        vocab_size: int = 1000,
        hidden_size: int = 100,
        context_size: int = 5,
        initializer_range: float = 0.02,
        special_token_ids: Sequence[int] = (),
        **more: Any,
    ) -> None:
        super().__init__(**more)
        self.vocab_size, self.hidden_size = vocab_size, hidden_size
        self.context_size, self.initializer_range = context_size, initializer_range
        self.special_token_ids = list(special_token_ids)


class StaticVectors(PreTrainedModel):
    """Token vectors V x H and an output matrix V x H without bias.

    CBOW (Mikolov et al. 2013a, section 3.1) with a full softmax, which the hierarchical softmax
    there approximates; and skip-gram or CBOW with negative sampling (Mikolov et al. 2013b).
    """

    config_class = StaticConfig
    config: StaticConfig

    def __init__(self, config: StaticConfig) -> None:
        super().__init__(config)
        self.embeddings = nn.Embedding(config.vocab_size, config.hidden_size)
        self.output = nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        self.post_init()

    def get_input_embeddings(self) -> nn.Module:
        """The token vectors."""
        return self.embeddings

    def forward(
        self, input_ids: Tensor, output_hidden_states: bool = False, **_: Any
    ) -> BaseModelOutput:
        """Vectors [B, T, H] of the tokens [B, T]."""
        vectors = self.embeddings(input_ids)
        return BaseModelOutput(
            last_hidden_state=vectors, hidden_states=(vectors,) if output_hidden_states else None
        )

    def context(self, input_ids: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        """[B, T, H] mean vector of the context of each token; 0 for an empty context.

        The context has up to `context_size` positions on each side, without padding and special
        tokens, such as unknown words.

        Args:
            input_ids: [B, T].
            attention_mask: [B, T], 0 at padding; None without padding.
        """
        config = self.config
        special = [config.bos_token_id, config.eos_token_id, config.pad_token_id]
        special += config.special_token_ids
        text = ~torch.isin(input_ids, torch.tensor(special, device=input_ids.device))
        if attention_mask is not None:
            text &= attention_mask.bool()
        position = torch.arange(input_ids.shape[1], device=input_ids.device)
        distance = (position - position[:, None]).abs()
        near = ((distance > 0) & (distance <= config.context_size)) & text[:, None, :]
        vectors = self.embeddings(input_ids)
        weights = near / near.sum(-1, keepdim=True).clamp(min=1)  # [B, T, T]
        return weights.to(vectors.dtype) @ vectors

    def scores(self, vectors: Tensor, tokens: Tensor) -> Tensor:
        """[M, N] products of vectors [M, H] with the output vectors of tokens [M, N]."""
        output = F.embedding(tokens, self.output.weight)  # its gradient is faster than indexing's
        return torch.einsum("mh,mnh->mn", vectors, output)


def _config(architecture: Architecture, size: Size, tokens: Tokens) -> StaticConfig:
    return StaticConfig(
        **tokens.fields,
        hidden_size=size.hidden_size,
        context_size=architecture.context_size,
        initializer_range=architecture.initializer_range,
        special_token_ids=tokens.special,
    )


STATIC = Blueprint(_config, StaticVectors, lambda n: linear_head(n.output), stack=lambda n: n)
"""Its head takes the result of `context`."""
