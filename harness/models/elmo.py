"""ELMo's two-way LSTM language model (Peters et al. 2018, NAACL, section 3), in Hugging Face form.

Shapes: B sequences, T tokens, H hidden size (H/2 a direction), E embedding size, V vocabulary.
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
    """The numbers of an `Elmo`."""

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
        """Whether the output matrix is the embedding, which must be as wide as one direction."""
        return self.tie_embeddings and 2 * self.embedding_size == self.hidden_size


class Elmo(PreTrainedModel):
    """A stack of LSTMs for each direction; a token's state is what both say of it, H/2 each.

    As published: residual connections between the layers of a direction (section 3.4), embeddings
    and softmax shared by the directions (section 3.1), dropout on what every LSTM and the softmax
    read (allenai/bilm-tf, training.py). Not as published: token embeddings V x E instead of
    convolutions over characters; no projection within the LSTMs; sequences that start from zero
    states; the whole softmax instead of a sample of it.

    Parameters: each LSTM has both of torch's biases; the output layer is a matrix V x H/2 with a
    bias V, or, where it is tied to the embeddings, these alone, without a bias.
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
        return self.embeddings

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        output_hidden_states: bool = False,
        **_: Any,
    ) -> BaseModelOutput:
        """States [B, T, H] of the last layer, the first half of the reader from left to right.

        `hidden_states` are those of every layer, and before them the embeddings, twice each
        (section 3.2), where they are as wide as one direction.

        Args:
            input_ids: [B, T], padded on the right.
            attention_mask: [B, T], 0 at padding; none where nothing is padding.
        """
        embedded = self.embeddings(input_ids)
        turn = reversal(input_ids, attention_mask).unsqueeze(-1)
        ahead = self._read(self.forward_layers, embedded)
        back = self._read(self.backward_layers, _turned(embedded, turn))
        layers = [torch.cat((f, _turned(b, turn)), -1) for f, b in zip(ahead, back, strict=True)]
        if 2 * embedded.shape[-1] == self.config.hidden_size:
            layers.insert(0, torch.cat((embedded, embedded), -1))
        return BaseModelOutput(
            last_hidden_state=layers[-1],
            hidden_states=tuple(layers) if output_hidden_states else None,
        )

    def _read(self, layers: nn.ModuleList, states: Tensor) -> list[Tensor]:
        """States [B, T, H/2] of each layer of one direction, from those [B, T, E] it reads."""
        out: list[Tensor] = []
        for number, layer in enumerate(layers):
            read = self.dropout(states)
            told, _ = layer(read)
            states = told + read if number else told
            out.append(states)
        return out

    def token_logits(self, states: Tensor) -> Tensor:
        """[..., H/2] states of either direction to [..., V] logits."""
        states = self.dropout(states)
        if self.output is None:
            return F.linear(states, self.embeddings.weight)
        logits: Tensor = self.output(states)
        return logits


def reversal(input_ids: Tensor, attention_mask: Tensor | None) -> Tensor:
    """[B, T] position that each one changes places with when the tokens, but not the padding on
    their right, are turned round; doing it twice changes nothing."""
    place = torch.arange(input_ids.shape[1], device=input_ids.device).expand_as(input_ids)
    if attention_mask is None:
        return place.flip(1)
    mirrored = attention_mask.sum(1, keepdim=True) - 1 - place
    return torch.where(mirrored >= 0, mirrored, place)


def _turned(states: Tensor, turn: Tensor) -> Tensor:
    return states.gather(1, turn.expand_as(states))


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
"""Its head reads one direction, [..., H/2]."""
