"""FLOPs as ELECTRA counts them: the figures that Clark et al. 2020 and others after them print.

google-research/electra, flops_computation.py, differs from `FLOPS_CONVENTION`:
backward costs as much as forward, embeddings are looked up by a product with one-hot vectors, and
dropout, normalisation, activation and softmax count, element by element.
"""

from harness.models import Size

DROPOUT = 4
"""Random number, comparison, two products."""
NORM = 5
"""Mean, variance, bias and scale of a layer normalisation."""
GELU = 8
SOFTMAX = 5
PREDICTED = 0.15625
"""Share of the positions that have an output: 80 of 512, BERT's max_predictions_per_seq."""


def electra_flops(
    size: Size,
    *,
    vocab_size: int = 30_522,
    sequence_length: int = 512,
    embedding_size: int | None = None,
    predicted_share: float = PREDICTED,
    discriminator: bool = False,
    cross_attention: bool = False,
) -> float:
    """Training FLOPs of one sequence.

    Args:
        embedding_size: width of the token embeddings; none: the hidden size.
        discriminator: whether the head tells replaced tokens, at all positions.
        cross_attention: whether each layer attends to a source, too; as long as the sequence.
    """
    width = embedding_size or size.hidden_size
    if discriminator:
        head = _replaced_head(size.hidden_size)
    else:
        head = predicted_share * _token_head(size.hidden_size, width, vocab_size)
    layer = _attention(size, sequence_length) * (2 if cross_attention else 1) + _feed_forward(size)
    embeddings = _embeddings(size.hidden_size, width, vocab_size, sequence_length)
    return 2.0 * sequence_length * (embeddings + size.num_layers * layer + head)


def electra_pair_flops(
    discriminator: Size,
    generator: Size,
    *,
    sequence_length: int = 512,
    embedding_size: int | None = None,
) -> float:
    """Training FLOPs of one sequence for both networks, which share their token embeddings."""
    width = embedding_size or discriminator.hidden_size
    return sum(
        electra_flops(
            size,
            sequence_length=sequence_length,
            embedding_size=width,
            discriminator=size is discriminator,
        )
        for size in (discriminator, generator)
    )


def _attention(size: Size, length: int) -> float:
    """A token's; the weighted sum and its projection are counted at the hidden size, whatever the
    width of the heads, and one normalisation as if of one element."""
    hidden, width = size.hidden_size, size.attention_size
    products = 3 * hidden * width + length * width + length * hidden + hidden * hidden
    scores = (SOFTMAX + DROPOUT + 1) * length * size.num_heads
    return 2 * products + 3 * width + scores + (DROPOUT + 2) * hidden + NORM


def _feed_forward(size: Size) -> float:
    hidden, inner = size.hidden_size, size.intermediate_size
    return 4 * hidden * inner + (GELU + 1) * inner + (DROPOUT + NORM + 2) * hidden


def _embeddings(hidden: int, width: int, vocab_size: int, length: int) -> float:
    """A token's: one-hot products with the tables of tokens, positions and segments."""
    tables = 2 * width * (vocab_size + length + 2)
    projection = 2 * hidden * width + hidden if width != hidden else 0
    return tables + (2 + NORM + DROPOUT) * width + projection


def _token_head(hidden: int, width: int, vocab_size: int) -> float:
    dense = 2 * hidden * width + (1 + GELU + NORM) * width
    return dense + (2 * width + SOFTMAX + 2) * vocab_size


def _replaced_head(hidden: int) -> float:
    return 2 * hidden**2 + (1 + GELU + 2) * hidden
