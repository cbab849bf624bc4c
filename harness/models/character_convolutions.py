"""Token embeddings from characters by convolutions, as ELMo's.

Shapes: N tokens, C characters of each, F filters of all widths, E embedding size, V vocabulary.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from transformers import initialization as init

from harness.models.counts.characters import (
    CHARACTER_SIZE,
    NUM_CHARACTERS,
    NUM_HIGHWAYS,
    num_filters,
)

GATE_BIAS = -2.0
"""Initial bias of the gates of highway layers, which carries most of their input (allenai/bilm-tf,
bilm/training.py)."""
PADDING, FIRST_BYTE, START, END = 0, 1, 257, 258
"""Numbers of characters; a byte has the number FIRST_BYTE + byte."""


def spelled(texts: Sequence[str], length: int) -> Tensor:
    """[V, C] characters of each text between the marks of its ends; longer ones are cut.

    Args:
        length: C.
    """
    table = torch.full((len(texts), length), PADDING, dtype=torch.int16)
    for row, text in zip(table, texts, strict=True):
        inner = [FIRST_BYTE + byte for byte in text.encode()][: length - 2]
        row[: len(inner) + 2] = torch.tensor([START, *inner, END], dtype=torch.int16)
    return table


class Highway(nn.Module):
    """g relu(A x) + (1 - g) x, where g = sigmoid(B x) (Srivastava et al. 2015)."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.transform, self.gate = nn.Linear(size, size), nn.Linear(size, size)

    def forward(self, vectors: Tensor) -> Tensor:
        """[N, F] to [N, F]."""
        gate = self.gate(vectors).sigmoid()
        return gate * self.transform(vectors).relu() + (1 - gate) * vectors


class CharacterConvolutions(nn.Module):
    """Embeds a token by its characters: filters of several widths, each with its maximum over the
    token, two highway layers, and a projection (Kim et al. 2016; Peters et al. 2018, section 3.4;
    initial weights of allenai/bilm-tf, bilm/training.py).

    Each different token of a batch is computed once. `spell` sets the characters of all tokens,
    which are saved with the weights.
    """

    def __init__(self, vocab_size: int, embedding_size: int, length: int) -> None:
        """
        Args:
            length: C, with the marks of both ends.
        """
        super().__init__()
        self.num_embeddings, self.embedding_dim = vocab_size, embedding_size
        self.spelling: Tensor
        self.register_buffer("spelling", torch.zeros(vocab_size, length, dtype=torch.int16))
        self.characters = nn.Embedding(NUM_CHARACTERS, CHARACTER_SIZE)
        filters = num_filters(embedding_size)
        self.convolutions = nn.ModuleList(
            nn.Conv1d(CHARACTER_SIZE, number, width) for width, number in filters.items()
        )
        size = sum(filters.values())
        self.highways = nn.ModuleList(Highway(size) for _ in range(NUM_HIGHWAYS))
        self.projection = nn.Linear(size, embedding_size)

    def spell(self, texts: Sequence[str]) -> None:
        """Sets the characters of the tokens, whose texts are `texts` [V].

        Raises:
            ValueError: there are not V texts.
        """
        if len(texts) != self.num_embeddings:
            raise ValueError(
                f"model.characters needs the texts of {self.num_embeddings} tokens, but has those "
                f"of {len(texts)}"
            )
        self.spelling.copy_(spelled(texts, self.spelling.shape[1]))

    def forward(self, input_ids: Tensor) -> Tensor:
        """[..., E] embeddings of tokens [...]."""
        tokens, places = input_ids.unique(return_inverse=True)
        vectors: Tensor = self._embedded(self.spelling[tokens].long())
        return vectors[places]

    def _embedded(self, characters: Tensor) -> Tensor:
        """[N, E] from the characters [N, C]."""
        inputs = self.characters(characters).transpose(1, 2)
        read = [convolution(inputs).amax(-1).relu() for convolution in self.convolutions]
        vectors = torch.cat(read, -1)
        for highway in self.highways:
            vectors = highway(vectors)
        embedded: Tensor = self.projection(vectors)
        return embedded

    @torch.no_grad()
    def reset_weights(self) -> None:
        """Draws the initial weights."""
        init.uniform_(self.characters.weight, -1.0, 1.0)
        for module in self.modules():
            match module:
                case nn.Conv1d(weight=weight, bias=nn.Parameter() as bias):
                    init.uniform_(weight, -0.05, 0.05)
                    init.zeros_(bias)
                case nn.Linear(weight=weight, bias=nn.Parameter() as bias):
                    init.normal_(weight, std=1 / math.sqrt(module.in_features))
                    init.zeros_(bias)
        for module in self.modules():
            if isinstance(module, Highway):
                init.constant_(module.gate.bias, GATE_BIAS)
