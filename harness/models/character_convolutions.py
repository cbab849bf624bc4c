"""Token embeddings from characters by convolutions, as ELMo's.

Shapes: N tokens, C characters of each, F filters of all widths, E embedding size, V vocabulary.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from transformers import initialization as init

CHARACTER_SIZE = 16
"""Width of the embeddings of characters (Peters et al. 2018; allenai/bilm-tf, README.md)."""
FILTERS = {1: 1 / 16, 2: 1 / 16, 3: 1 / 8, 4: 1 / 4, 5: 1 / 2, 6: 1, 7: 2}
"""Width of a filter to the number of such filters as a share of E: 32, 32, 64, 128, 256, 512 and
1,024 at ELMo's 512 (Peters et al. 2018, section 3.4: 2,048 filters; allenai/bilm-tf, README.md)."""
GATE_BIAS = -2.0
"""Initial bias of the gates of highway layers, which carries most of their input (allenai/bilm-tf,
bilm/training.py)."""
NUM_HIGHWAYS = 2
"""Highway layers (Peters et al. 2018, section 3.4)."""
PADDING, FIRST_BYTE, START, END = 0, 1, 257, 258
NUM_CHARACTERS = 259
"""The bytes of UTF-8, with marks of padding and of both ends of a token."""


def num_filters(embedding_size: int) -> dict[int, int]:
    """Width of a filter to the number of such filters."""
    return {width: max(1, round(share * embedding_size)) for width, share in FILTERS.items()}


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


def num_parameters(embedding_size: int) -> int:
    """Of the embeddings of characters, the filters, the highway layers and the projection."""
    filters = num_filters(embedding_size)
    size = sum(filters.values())
    convolutions = sum(number * (width * CHARACTER_SIZE + 1) for width, number in filters.items())
    highways = NUM_HIGHWAYS * 2 * (size + 1) * size
    return NUM_CHARACTERS * CHARACTER_SIZE + convolutions + highways + (size + 1) * embedding_size


def multiply_adds(embedding_size: int, length: int) -> int:
    """Multiplications and additions for one token.

    Args:
        length: C.
    """
    filters = num_filters(embedding_size)
    size = sum(filters.values())
    convolutions = sum(
        number * width * CHARACTER_SIZE * (length - width + 1) for width, number in filters.items()
    )
    return convolutions + NUM_HIGHWAYS * 2 * size**2 + size * embedding_size
