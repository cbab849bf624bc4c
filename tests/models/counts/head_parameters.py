"""Parameters of the heads of pretraining, and of all that it moves."""

from harness.models import Architecture, Size
from harness.models.counts.backbones import POOLED, count_parameters
from harness.models.counts.shapes import (
    TRANSFORMED,
    embedding_width,
    linear,
    norm,
    recurrent_is_tied,
)


def count_token_head(architecture: Architecture, size: Size, vocab_size: int) -> int:
    """Parameters of the head that names tokens; its matrix counts with the network."""
    if architecture.family in TRANSFORMED:
        bias = architecture.family != "modernbert"
        width = embedding_width(architecture, size)
        head = linear(size.hidden_size, width, bias) + norm(width, bias) + vocab_size
        positions = architecture.max_position * size.hidden_size
        return head + (positions if architecture.mask_decoder else 0)
    recurrent = architecture.facts.kind == "recurrent"
    untied = recurrent and not recurrent_is_tied(architecture, size)
    return vocab_size if architecture.family == "xlnet" or untied else 0  # biases


def count_replaced_head(size: Size) -> int:
    """Parameters of the discriminator head (Clark et al. 2020, section 2)."""
    return linear(size.hidden_size, size.hidden_size) + linear(size.hidden_size, 1)


def count_trained_parameters(
    architecture: Architecture,
    size: Size,
    vocab_size: int,
    *,
    pair_format: bool = False,
    pair_loss: bool = False,
    representation: str = "",
) -> int:
    """Parameters that pretraining to name tokens moves: the network's and its head's.

    The pooler is moved only if a pair loss reads it.
    """
    backbone = count_parameters(
        architecture, size, vocab_size, pair_format=pair_format, representation=representation
    )
    pooler = linear(size.hidden_size, size.hidden_size)
    counted = pooler if architecture.family in POOLED else 0
    pair = pooler + linear(size.hidden_size, 2) if pair_loss else 0
    return backbone - counted + pair + count_token_head(architecture, size, vocab_size)
