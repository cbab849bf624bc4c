"""ELMo's bidirectional LSTM language model (Peters et al. 2018, NAACL, section 3).

Shapes: B sequences, T tokens, H hidden size (H/2 for each direction), E embedding size, V
vocabulary.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import PreTrainedConfig, PreTrainedModel
from transformers.modeling_outputs import BaseModelOutput

from harness.models import Architecture, Size
from harness.models.blueprints import Blueprint, Tokens


class ElmoConfig(PreTrainedConfig):
    """Configuration of `Elmo`."""

    model_type = "harness_elmo"

    def __init__(
        self,
        vocab_size: int = 1000,
        hidden_size: int = 128,
        embedding_size: int | None = None,
        num_hidden_layers: int = 2,
        dropout: float = 0.1,
        initializer_range: float = 0.02,
        tie_embeddings: bool = True,
        **more: Any,
    ) -> None:
        super().__init__(**more)
        self.vocab_size, self.hidden_size = vocab_size, hidden_size
        self.embedding_size = embedding_size or hidden_size // 2
        self.num_hidden_layers, self.dropout = num_hidden_layers, dropout
        self.initializer_range, self.tie_embeddings = initializer_range, tie_embeddings

    @property
    def output_is_embedding(self) -> bool:
        """Whether the output matrix is the embedding, which requires the width of one direction."""
        return self.tie_embeddings and 2 * self.embedding_size == self.hidden_size


class Elmo(PreTrainedModel):
    """A stack of LSTMs for each direction, whose states of H/2 are concatenated.

    As published: residual connections between the layers of a direction (section 3.4), embeddings
    and softmax shared by the directions (section 3.1), dropout on the inputs of every LSTM and of
    the softmax (allenai/bilm-tf, training.py). Not as published: token embeddings V x E instead of
    character convolutions; no projection in the LSTMs; zero initial states for every sequence; a
    full softmax instead of a sampled one.

    Parameters: each LSTM has both biases of torch; the output layer has a matrix V x H/2 and a bias
    V, or is tied to the embeddings, without a bias.
    """

    config_class = ElmoConfig
    config: ElmoConfig

    def __init__(self, config: ElmoConfig) -> None:
        super().__init__(config)
        half = config.hidden_size // 2
        widths = [config.embedding_size] + [half] * (config.num_hidden_layers - 1)
        self.embeddings = nn.Embedding(config.vocab_size, config.embedding_size)
        self.forward_layers = nn.ModuleList(nn.LSTM(w, half, batch_first=True) for w in widths)
        self.backward_layers = nn.ModuleList(nn.LSTM(w, half, batch_first=True) for w in widths)
        self.output = None if config.output_is_embedding else nn.Linear(half, config.vocab_size)
        self.dropout = nn.Dropout(config.dropout)
        self.post_init()

    def get_input_embeddings(self) -> nn.Module:
        """The token embeddings."""
        return self.embeddings

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        output_hidden_states: bool = False,
        **_: Any,
    ) -> BaseModelOutput:
        """States [B, T, H] of the last layer; the first half is of the left-to-right direction.

        `hidden_states` has the states of every layer, preceded by the duplicated embeddings
        (section 3.2) if they have the width of one direction.

        Args:
            input_ids: [B, T], padded on the right.
            attention_mask: [B, T], 0 at padding; None without padding.
        """
        embedded = self.embeddings(input_ids)
        order = reversal(input_ids, attention_mask).unsqueeze(-1)
        ahead = self._read(self.forward_layers, embedded)
        back = self._read(self.backward_layers, _reordered(embedded, order))
        layers = [
            torch.cat((f, _reordered(b, order)), -1) for f, b in zip(ahead, back, strict=True)
        ]
        if 2 * embedded.shape[-1] == self.config.hidden_size:
            layers.insert(0, torch.cat((embedded, embedded), -1))
        return BaseModelOutput(
            last_hidden_state=layers[-1],
            hidden_states=tuple(layers) if output_hidden_states else None,
        )

    def _read(self, layers: nn.ModuleList, states: Tensor) -> list[Tensor]:
        """States [B, T, H/2] of each layer of one direction, from embeddings [B, T, E]."""
        out: list[Tensor] = []
        for number, layer in enumerate(layers):
            inputs = self.dropout(states)
            outputs, _ = layer(inputs)
            states = outputs + inputs if number else outputs
            out.append(states)
        return out

    def token_logits(self, states: Tensor) -> Tensor:
        """[..., V] logits from [..., H/2] states of either direction."""
        states = self.dropout(states)
        if self.output is None:
            return F.linear(states, self.embeddings.weight)
        logits: Tensor = self.output(states)
        return logits


def reversal(input_ids: Tensor, attention_mask: Tensor | None) -> Tensor:
    """[B, T] indices that reverse the tokens but not the padding on the right; an involution."""
    position = torch.arange(input_ids.shape[1], device=input_ids.device).expand_as(input_ids)
    if attention_mask is None:
        return position.flip(1)
    mirrored = attention_mask.sum(1, keepdim=True) - 1 - position
    return torch.where(mirrored >= 0, mirrored, position)


def _reordered(states: Tensor, order: Tensor) -> Tensor:
    return states.gather(1, order.expand_as(states))


def _config(architecture: Architecture, size: Size, tokens: Tokens) -> ElmoConfig:
    return ElmoConfig(
        vocab_size=tokens.vocab_size,
        hidden_size=size.hidden_size,
        embedding_size=architecture.embedding_size,
        num_hidden_layers=size.num_layers,
        dropout=architecture.dropout,
        initializer_range=architecture.initializer_range,
        tie_embeddings=architecture.tie_embeddings,
        pad_token_id=tokens.pad,
    )


ELMO = Blueprint(_config, Elmo, lambda n: n.token_logits, stack=lambda n: n)
"""Its head takes states of one direction, [..., H/2]."""
