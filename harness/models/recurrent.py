"""Recurrent networks of LSTMs, GRUs or plain cells: from left to right, of both directions, ELMo.

Shapes: B sequences, T tokens, H hidden size, E embedding size, V vocabulary.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedConfig, PreTrainedModel
from transformers import initialization as init
from transformers.modeling_outputs import BaseModelOutput

from harness.models import Architecture, Size
from harness.models.blueprints import Blueprint, Head, Tokens
from harness.models.character_convolutions import CharacterConvolutions
from harness.models.token_heads import LinearHead, linear_head

Layer = Callable[[Tensor], Tensor]

CELLS: dict[str, type[nn.RNNBase]] = {"lstm": nn.LSTM, "gru": nn.GRU, "rnn": nn.RNN}
"""Hochreiter and Schmidhuber 1997; Cho et al. 2014, whose reset gate is applied before the product
with the state, and torch's after it; Elman 1990, with tanh."""


class LstmConfig(PreTrainedConfig):
    """Configuration of `Lstm`."""

    model_type = "harness_lstm"

    def __init__(
        self,
        vocab_size: int = 1000,
        hidden_size: int = 128,
        embedding_size: int | None = None,
        num_hidden_layers: int = 2,
        dropout: float = 0.1,
        initializer_range: float = 0.02,
        tie_embeddings: bool = True,
        cell: str = "lstm",
        characters: int | None = None,
        **more: Any,
    ) -> None:
        super().__init__(**more)
        self.vocab_size, self.hidden_size = vocab_size, hidden_size
        self.embedding_size = embedding_size or self.output_size
        self.num_hidden_layers, self.dropout = num_hidden_layers, dropout
        self.initializer_range, self.tie_embeddings = initializer_range, tie_embeddings
        self.cell, self.characters = cell, characters

    @property
    def state_size(self) -> int:
        """Width of the states of a cell."""
        return self.hidden_size

    @property
    def output_size(self) -> int:
        """Width of what the layer above, or the output layer, reads."""
        return self.hidden_size

    @property
    def output_is_embedding(self) -> bool:
        """Whether the output matrix is the embedding, which requires a vector for each token, as
        wide as the inputs of the output layer."""
        fits = self.embedding_size == self.output_size and not self.characters
        return self.tie_embeddings and fits


class Lstm(PreTrainedModel):
    """A stack of LSTMs, or of other cells, that read from left to right.

    Residual connections between the layers (Peters et al. 2018, section 3.4), dropout on the inputs
    of every layer and of the softmax (allenai/bilm-tf, training.py), and zero initial states for
    every sequence.

    Parameters: each cell has both biases of torch; the output layer has a matrix and a bias, or is
    tied to the embeddings V x E, without a bias.
    """

    config_class: type[LstmConfig] = LstmConfig
    config: LstmConfig

    def __init__(self, config: LstmConfig) -> None:
        super().__init__(config)
        self.embeddings = _embeddings(config)
        self.forward_layers = _cells(config)
        if config.state_size < config.hidden_size:
            self.backward_layers = _cells(config)
        self.output = None
        if not config.output_is_embedding:
            self.output = nn.Linear(config.output_size, config.vocab_size)
        self.dropout = nn.Dropout(config.dropout)
        self.post_init()

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        """Initialises GRUs and plain cells as transformers does LSTMs, so that cells differ in
        nothing else; it leaves them torch's own weights."""
        super()._init_weights(module)
        if isinstance(module, (nn.GRU, nn.RNN)):
            for name, parameter in module.named_parameters():
                if "weight" in name:
                    init.xavier_uniform_(parameter)
                else:
                    init.zeros_(parameter)
        elif isinstance(module, CharacterConvolutions):
            module.reset_weights()

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
        """States [B, T, H] of the last layer; of two directions, the first half is of the
        left-to-right one.

        `hidden_states` has the states of every layer, preceded by the embeddings if they have the
        width of what a layer reads; ELMo's are duplicated (section 3.2).

        Args:
            input_ids: [B, T], padded on the right.
            attention_mask: [B, T], 0 at padding; None without padding.
        """
        embedded = self.embeddings(input_ids)
        layers = self._states(embedded, reversal(input_ids, attention_mask).unsqueeze(-1))
        width = self.config.output_size
        if embedded.shape[-1] == width:
            layers.insert(0, torch.cat([embedded] * (self.config.hidden_size // width), -1))
        return BaseModelOutput(
            last_hidden_state=layers[-1],
            hidden_states=tuple(layers) if output_hidden_states else None,
        )

    def _states(self, embedded: Tensor, order: Tensor) -> list[Tensor]:
        """States [B, T, H] of each layer.

        Args:
            embedded: [B, T, E].
            order: [B, T, 1] indices that reverse the tokens.
        """
        return self._read(self.forward_layers, embedded)

    def _read(self, layers: nn.ModuleList, states: Tensor) -> list[Tensor]:
        """States [B, T, .] of each layer of one direction."""
        return self._stacked([_outputs(cell) for cell in layers], states)

    def _stacked(self, layers: list[Layer], states: Tensor) -> list[Tensor]:
        """The outputs of `layers`, each of which reads the one below."""
        out: list[Tensor] = []
        for number, layer in enumerate(layers):
            inputs = self.dropout(states)
            outputs = layer(inputs)
            states = outputs + inputs if number else outputs
            out.append(states)
        return out


class BiLstmConfig(LstmConfig):
    """Configuration of `BiLstm`."""

    model_type = "harness_bilstm"

    def __init__(self, **fields: Any) -> None:  # transformers makes another if there is none
        super().__init__(**fields)

    @property
    def state_size(self) -> int:
        """Half of H for each direction."""
        return self.hidden_size // 2


class BiLstm(Lstm):
    """A stack of layers with a cell for each direction, both of which read the whole layer below
    (Graves, Mohamed and Hinton 2013, section 2), so that above the lowest layer both halves of a
    state depend on all tokens."""

    config_class = BiLstmConfig

    def _states(self, embedded: Tensor, order: Tensor) -> list[Tensor]:
        def both(ahead: Layer, back: Layer) -> Layer:
            return lambda inputs: joined(ahead(inputs), back(reordered(inputs, order)), order)

        pairs = zip(self.forward_layers, self.backward_layers, strict=True)
        return self._stacked([both(*map(_outputs, pair)) for pair in pairs], embedded)


class ElmoConfig(BiLstmConfig):
    """Configuration of `Elmo`."""

    model_type = "harness_elmo"

    def __init__(self, **fields: Any) -> None:  # transformers makes another if there is none
        super().__init__(**fields)

    @property
    def output_size(self) -> int:
        """That of one direction, as they do not meet."""
        return self.state_size


class Elmo(Lstm):
    """ELMo's bidirectional language model (Peters et al. 2018, NAACL, section 3): a stack of LSTMs
    for each direction, whose states are concatenated.

    As published: embeddings and softmax shared by the directions (section 3.1). Not as published:
    embeddings of tokens instead of character convolutions, unless `characters` is set; no
    projection in the LSTMs; zero initial states; a full softmax instead of a sampled one.
    """

    config_class = ElmoConfig

    def _states(self, embedded: Tensor, order: Tensor) -> list[Tensor]:
        ahead = self._read(self.forward_layers, embedded)
        back = self._read(self.backward_layers, reordered(embedded, order))
        return [joined(f, b, order) for f, b in zip(ahead, back, strict=True)]


def _embeddings(config: LstmConfig) -> nn.Embedding | CharacterConvolutions:
    if config.characters:
        widths = config.vocab_size, config.embedding_size
        return CharacterConvolutions(*widths, config.characters)
    return nn.Embedding(config.vocab_size, config.embedding_size)


def _outputs(cell: nn.Module) -> Layer:
    return lambda inputs: cell(inputs)[0]


def _cells(config: LstmConfig) -> nn.ModuleList:
    widths = [config.embedding_size] + [config.output_size] * (config.num_hidden_layers - 1)
    cell: Any = CELLS[config.cell]
    return nn.ModuleList(cell(width, config.state_size, batch_first=True) for width in widths)


def joined(ahead: Tensor, back: Tensor, order: Tensor) -> Tensor:
    """[B, T, H] from states of both directions [B, T, H/2], the second in reverse order."""
    return torch.cat((ahead, reordered(back, order)), -1)


def reversal(input_ids: Tensor, attention_mask: Tensor | None) -> Tensor:
    """[B, T] indices that reverse the tokens but not the padding on the right; an involution."""
    position = torch.arange(input_ids.shape[1], device=input_ids.device).expand_as(input_ids)
    if attention_mask is None:
        return position.flip(1)
    mirrored = attention_mask.sum(1, keepdim=True) - 1 - position
    return torch.where(mirrored >= 0, mirrored, position)


def reordered(states: Tensor, order: Tensor) -> Tensor:
    """States [B, T, .] at the indices `order` [B, T, 1]."""
    return states.gather(1, order.expand_as(states))


def _head(network: Lstm) -> Head:
    if network.output is not None:
        return linear_head(network.output, network.dropout)
    assert isinstance(network.embeddings, nn.Embedding)
    return LinearHead(network.embeddings.weight, transform=network.dropout)


def _blueprint(network: type[Lstm]) -> Blueprint:
    def config(architecture: Architecture, size: Size, tokens: Tokens) -> LstmConfig:
        made: LstmConfig = network.config_class(
            vocab_size=tokens.vocab_size,
            hidden_size=size.hidden_size,
            embedding_size=architecture.embedding_size,
            num_hidden_layers=size.num_layers,
            dropout=architecture.dropout,
            initializer_range=architecture.initializer_range,
            tie_embeddings=architecture.tie_embeddings,
            cell=architecture.block["cell"],
            characters=architecture.characters,
            pad_token_id=tokens.pad,
        )
        return made

    return Blueprint(config, network, _head, stack=lambda n: n)


RECURRENT: dict[str, Blueprint] = {
    "lstm": _blueprint(Lstm),
    "bilstm": _blueprint(BiLstm),
    "elmo": _blueprint(Elmo),
}
"""The head of `elmo` takes states of one direction, [..., H/2]."""
