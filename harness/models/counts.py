"""Parameter counts without building a network; tied matrices count once."""

from harness.models import Architecture, Size


def segment_types(architecture: Architecture, pair_format: bool) -> int:
    """Rows of the segment embedding: two for BERT; RoBERTa needs a second one for pairs only."""
    return 2 if architecture.family == "bert" or pair_format else 1


def position_rows(architecture: Architecture) -> int:
    """Rows of the position embedding; RoBERTa's positions start after the padding's number."""
    return architecture.max_position + (2 if architecture.family == "roberta" else 0)


def count_parameters(
    architecture: Architecture, size: Size, vocab_size: int, *, pair_format: bool = False
) -> int:
    """Parameters of the backbone with its pooler, as the literature counts them."""
    hidden, inner = size.hidden_size, size.intermediate_size
    rows = vocab_size + position_rows(architecture) + segment_types(architecture, pair_format)
    norm = 2 * hidden
    attention = 4 * (hidden**2 + hidden) + norm
    feed_forward = 2 * hidden * inner + inner + hidden + norm
    pooler = hidden**2 + hidden
    return rows * hidden + norm + size.num_layers * (attention + feed_forward) + pooler


def count_trained_parameters(
    architecture: Architecture,
    size: Size,
    vocab_size: int,
    *,
    pair_format: bool = False,
    pair_loss: bool = False,
) -> int:
    """Parameters that pretraining moves: the heads too, the pooler only if a pair loss reads it."""
    hidden = size.hidden_size
    backbone = count_parameters(architecture, size, vocab_size, pair_format=pair_format)
    masked_head = hidden**2 + hidden + 2 * hidden + vocab_size  # its matrix is the embedding's
    pooler = hidden**2 + hidden
    return backbone + masked_head + (2 * hidden + 2 if pair_loss else -pooler)
