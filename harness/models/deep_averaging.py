"""Deep averaging networks: one vector of a text, from the average of its words and bigrams.

Shapes: B sequences, T tokens, H hidden size, V vocabulary, N buckets of bigrams.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import PreTrainedConfig, PreTrainedModel
from transformers.activations import ACT2FN
from transformers.modeling_outputs import BaseModelOutput

from harness.models import Architecture, Size
from harness.models.blueprints import Blueprint, Tokens
from harness.models.token_heads import LinearHead

MULTIPLIER = 116_049_371
"""By which fastText's hash of word n-grams multiplies that of the words before (facebookresearch/
fastText, dictionary.cc, `addWordNgrams`)."""


class DanConfig(PreTrainedConfig):
    """Configuration of `Dan`."""

    model_type = "harness_dan"

    def __init__(
        self,
        vocab_size: int = 1000,
        hidden_size: int = 128,
        num_hidden_layers: int = 2,
        bigram_buckets: int = 1000,
        hidden_act: str = "relu",
        dropout: float = 0.0,
        initializer_range: float = 0.02,
        **more: Any,
    ) -> None:
        super().__init__(**more)
        self.vocab_size, self.hidden_size = vocab_size, hidden_size
        self.num_hidden_layers, self.bigram_buckets = num_hidden_layers, bigram_buckets
        self.hidden_act, self.dropout = hidden_act, dropout
        self.initializer_range = initializer_range


class DanLayer(nn.Module):
    """A linear layer and its activation."""

    def __init__(self, config: DanConfig) -> None:
        super().__init__()
        self.dense = nn.Linear(config.hidden_size, config.hidden_size)
        self.activation = ACT2FN[config.hidden_act]

    def forward(self, vectors: Tensor) -> Tensor:
        """Vectors [..., H] to vectors [..., H]."""
        activated: Tensor = self.activation(self.dense(vectors))
        return activated


class Dan(PreTrainedModel):
    """A deep averaging network (Iyyer et al. 2015) with bigrams, as one of the Universal Sentence
    Encoders (Cer et al. 2018): the average of the embeddings of all words and bigrams, through
    feed-forward layers, which are ReLU's and as wide as the embeddings (miyyer/dan,
    dan_sentiment.py).

    A text has one vector, which is the state of each of its tokens; any pooling returns it. Words
    are the tokens of the tokenizer. The bigram of a token and the one before it, for the first
    token padding, has an embedding by a hash, so that rare ones share it. The network of Cer et al.
    is described no further there: number of layers, their widths, activation and how bigrams are
    looked up are ours.

    The token head is tied to the embeddings V x H, without a bias; all tokens of a text have the
    same logits.
    """

    config_class = DanConfig
    config: DanConfig

    def __init__(self, config: DanConfig) -> None:
        super().__init__(config)
        self.embeddings = nn.Embedding(config.vocab_size, config.hidden_size)
        self.bigram_embeddings = None
        if config.bigram_buckets:
            self.bigram_embeddings = nn.Embedding(config.bigram_buckets, config.hidden_size)
        self.layers = nn.ModuleList(DanLayer(config) for _ in range(config.num_hidden_layers))
        self.post_init()

    def get_input_embeddings(self) -> nn.Module:
        """The embeddings of words."""
        return self.embeddings

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        output_hidden_states: bool = False,
        **_: Any,
    ) -> BaseModelOutput:
        """States [B, T, H], equal for all tokens of a text.

        The first of `hidden_states` is the mean of the word and the bigram of each token.

        Args:
            input_ids: [B, T].
            attention_mask: [B, T], 0 at padding; None without padding.
        """
        embedded = self._embedded(input_ids)
        mask = torch.ones_like(input_ids) if attention_mask is None else attention_mask
        read = self._kept(mask.bool()).unsqueeze(-1)
        vectors = embedded.masked_fill(~read, 0).sum(1) / read.sum(1)
        states = [embedded]
        for layer in self.layers:
            vectors = layer(vectors)
            states.append(vectors.unsqueeze(1).expand_as(embedded))
        return BaseModelOutput(
            last_hidden_state=states[-1],
            hidden_states=tuple(states) if output_hidden_states else None,
        )

    def _embedded(self, input_ids: Tensor) -> Tensor:
        """[B, T, H] mean of the embeddings of each token and its bigram."""
        words: Tensor = self.embeddings(input_ids)
        if self.bigram_embeddings is None:
            return words
        buckets = bigram_buckets(input_ids, self.config.pad_token_id, self.config.bigram_buckets)
        both: Tensor = (words + self.bigram_embeddings(buckets)) / 2
        return both

    def _kept(self, real: Tensor) -> Tensor:
        """[B, T] which of the real tokens are averaged: in training without those that word dropout
        leaves out, with their bigrams, unless it leaves out all (Iyyer et al. 2015)."""
        if not (self.training and self.config.dropout):
            return real
        kept = real & (torch.rand(real.shape, device=real.device) >= self.config.dropout)
        return torch.where(kept.any(1, keepdim=True), kept, real)


def bigram_buckets(input_ids: Tensor, pad: int, number: int) -> Tensor:
    """[B, T] bucket, below `number`, of the bigram of each token [B, T] and the one before it; the
    first follows `pad`."""
    before = F.pad(input_ids, (1, -1), value=pad)
    return (before * MULTIPLIER + input_ids) % number


def _config(architecture: Architecture, size: Size, tokens: Tokens) -> DanConfig:
    buckets = architecture.bigram_buckets
    return DanConfig(
        **tokens.fields,
        hidden_size=size.hidden_size,
        num_hidden_layers=size.num_layers,
        bigram_buckets=tokens.vocab_size if buckets is None else buckets,
        hidden_act=architecture.block["activation"],
        dropout=architecture.dropout,
        initializer_range=architecture.initializer_range,
    )


DAN = Blueprint(_config, Dan, lambda n: LinearHead(n.embeddings.weight), stack=lambda n: n)
