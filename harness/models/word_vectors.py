"""Token embeddings from word vectors of a file or a network."""

import math
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import nn
from transformers import PreTrainedModel

from harness.models.backbone import Backbone


@torch.no_grad()
def init_embeddings(
    backbone: Backbone, path: Path, words: Sequence[str], field: str = "size.hidden_size"
) -> int:
    """Loads the vectors of `words` [V] from a file into the token embeddings [V, E].

    Tokens without one keep their initial weights, except that static vectors get zeros: a token
    without a vector then adds nothing to a mean.

    Args:
        field: that declares the width E, for messages.

    Returns:
        Number of tokens with a vector.

    Raises:
        ValueError: no such file, a malformed line, or another width.
    """
    embedding = backbone.network.get_input_embeddings()
    assert isinstance(embedding, nn.Embedding)
    found = read_vectors(path, set(words), embedding.embedding_dim, field)
    if backbone.family == "static":
        embedding.weight.zero_()
    for number, word in enumerate(words):
        if word in found:
            embedding.weight[number] = torch.tensor(found[word])
    return sum(word in found for word in words)


@torch.no_grad()
def copy_embeddings(source: PreTrainedModel, target: PreTrainedModel) -> None:
    """Copies the token embeddings [V, E] of one network into another.

    Raises:
        ValueError: they have other shapes.
    """
    given, own = source.get_input_embeddings(), target.get_input_embeddings()
    assert isinstance(given, nn.Embedding) and isinstance(own, nn.Embedding)
    shapes = [list(table.weight.shape) for table in (own, given)]
    if shapes[0] != shapes[1]:
        raise ValueError(f"token embeddings {shapes[0]} cannot start from vectors {shapes[1]}")
    own.weight.copy_(given.weight)


def read_vectors(path: Path, words: set[str], width: int, field: str) -> dict[str, list[float]]:
    """The vectors of `words` in a file in GloVe's text format (Pennington et al. 2014).

    A line has a word and `width` numbers, separated by spaces; some words of the published files
    contain spaces.

    Raises:
        ValueError: no such file, a malformed line, or vectors of another width.
    """
    if not path.is_file():
        raise ValueError(f"model.vectors must be a file of word vectors, but {path} does not exist")
    found: dict[str, list[float]] = {}
    with path.open(encoding="utf-8", errors="replace", newline="\n") as file:
        for number, line in enumerate(file, 1):
            if number == 1 and (given := line.count(" ")) != width:
                raise ValueError(
                    f"{path}:1: the vectors have {given} numbers, but {field} is {width}; "
                    f"set {field} to {given}, or give a file of width {width}"
                )
            word, *values = line.rstrip("\r\n").rsplit(" ", width)
            numbers = _floats(values) if word in words else []
            if len(values) != width or numbers is None or _floats(word.split(" ")[1:][-1:]):
                raise ValueError(
                    f"{path}:{number}: a line must be a word and {width} numbers, but is "
                    f"{line[:60].strip()!r}"
                )
            if numbers:
                found[word] = numbers
    return found


def _floats(values: list[str]) -> list[float] | None:
    """The values as floats; None if one is not a finite number."""
    try:
        numbers = [float(value) for value in values]
    except ValueError:
        return None
    return numbers if all(map(math.isfinite, numbers)) else None
