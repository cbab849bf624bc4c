"""FLOPs of one forward pass over one sequence, by `FLOPS_CONVENTION`, for every family.

All products of transformers' eager attention are counted, including masked scores: those above the
diagonal of a causal mask and outside the windows of ModernBERT, Mistral and GPT-Neo. Private
functions return multiply-adds.
"""

from dataclasses import dataclass

from harness.models import ROTARY, Architecture, Size
from harness.models.counts.characters import multiply_adds
from harness.models.counts.shapes import (
    MASK_DECODER_STEPS,
    TRANSFORMED,
    decoder_layers,
    embedding_width,
    half_of,
    has_decoder,
    head_width,
    key_value_width,
    position_buckets,
    recurrent_gates,
    recurrent_widths,
)

GATED = ("modernbert", *ROTARY)
"""Families whose feed-forward layers have a gate."""

FLOPS_CONVENTION = (
    "matrix products only, 2 per multiply-add; backward = 2 x forward; embedding lookups free; "
    "output layer at predicted positions only"
)
"""What is counted; other conventions give other figures for the same run."""


@dataclass(frozen=True)
class Lengths:
    """Expected numbers of tokens of one sequence."""

    source: float
    """Inputs of the encoder or of the single stack."""
    target: float = 0
    """Tokens of the decoder, or after the source in the single stack; end token included."""
    predicted: float = 0
    """Predicted positions; those of both directions for a biLM."""


def forward_flops(
    architecture: Architecture,
    size: Size,
    vocab_size: int,
    lengths: Lengths,
    *,
    representation: str = "",
    batch_size: int = 1,
) -> float:
    """FLOPs of the network and its token head for one sequence.

    Args:
        representation: empty for the native one of the family.
        batch_size: sequences that share DeBERTa's projections of its distance table.
    """
    if architecture.facts.kind == "baseline":
        return 0.0
    head = lengths.predicted * token_head(architecture, size, vocab_size)
    if architecture.mask_decoder and lengths.predicted:
        size = with_mask_decoder(size)
    if has_decoder(architecture, representation):
        return 2.0 * (_encoder_decoder(architecture, size, lengths) + head)
    tokens = lengths.source + lengths.target
    if architecture.family == "static":
        return 2.0 * head  # lookups and means are not matrix products
    if architecture.family == "dan":  # a vector for the sequence, whatever its length
        return 2.0 * (size.num_layers * size.hidden_size**2 + head)
    if architecture.facts.kind == "recurrent":
        return 2.0 * (_recurrent(architecture, size, tokens) + head)
    if architecture.family == "two_way_gpt2":
        return 2.0 * (2 * _stack(*half_of(architecture, size), tokens) + head)
    total = _stack(architecture, size, tokens) + head
    if architecture.family in ("deberta", "deberta_v3"):
        total += _relative(architecture, size, tokens, batch_size)
    if architecture.family == "xlnet":
        queries = lengths.predicted if representation in ("", "permuted") else 0
        total += _streams(size, tokens, queries)
    return 2.0 * total


def with_mask_decoder(size: Size) -> Size:
    """The layers that run where tokens are predicted: the enhanced mask decoder applies the last
    one MASK_DECODER_STEPS times, for all tokens."""
    return size.model_copy(update={"num_layers": size.num_layers - 1 + MASK_DECODER_STEPS})


def token_head(architecture: Architecture, size: Size, vocab_size: int) -> float:
    """Multiply-adds of one predicted token: the dense layer, if there is one, and the output
    matrix."""
    width = head_width(architecture, size)
    if architecture.family not in TRANSFORMED:
        return float(width * vocab_size)
    embedding = embedding_width(architecture, size)
    return float(width * embedding + embedding * vocab_size)


def replaced_head(size: Size) -> float:
    """Multiply-adds of the discriminator head for one token (Clark et al. 2020, section 2)."""
    return float(size.hidden_size**2 + size.hidden_size)


def _feed_forward(architecture: Architecture, size: Size) -> float:
    gated = architecture.gated_feed_forward or architecture.family in GATED
    return float((3 if gated else 2) * size.hidden_size * size.intermediate_size)


def _attention(
    architecture: Architecture, size: Size, queries: float, keys: float | None = None
) -> float:
    """Attention of `queries` tokens to `keys` tokens, by default to themselves."""
    keys = queries if keys is None else keys
    hidden, width = size.hidden_size, size.attention_size
    projected = width * queries + key_value_width(architecture, size) * keys
    return 2.0 * hidden * projected + 2.0 * queries * keys * width


def _stack(architecture: Architecture, size: Size, tokens: float, layers: int = 0) -> float:
    """Layers of self-attention and feed-forward, and the projection of factorised embeddings."""
    layer = _attention(architecture, size, tokens) + tokens * _feed_forward(architecture, size)
    width = embedding_width(architecture, size)
    projected = architecture.family == "albert" or width != size.hidden_size
    into = projected * width * size.hidden_size * tokens
    return (layers or size.num_layers) * layer + into


def _encoder_decoder(architecture: Architecture, size: Size, lengths: Lengths) -> float:
    layers = decoder_layers(architecture, size)
    across = _attention(architecture, size, lengths.target, lengths.source)
    return (
        _stack(architecture, size, lengths.source)
        + _stack(architecture, size, lengths.target, layers)
        + layers * across
    )


def _relative(architecture: Architecture, size: Size, tokens: float, batch_size: int) -> float:
    """DeBERTa's content-to-position and position-to-content scores (He et al. 2021, section 3.1).

    The table has 2k distances: all buckets of DeBERTaV3, or as many as the text needs in DeBERTa.
    """
    buckets = float(position_buckets(architecture))
    distances = 2 * (buckets if architecture.family == "deberta_v3" else min(tokens, buckets))
    width = size.attention_size
    scores = 2 * tokens * distances * width
    tables = 2 * distances * size.hidden_size * width / batch_size
    return size.num_layers * (scores + tables)


def _streams(size: Size, tokens: float, queries: float) -> float:
    """What XLNet adds to plain attention (Yang et al. 2019, section 2.3 and appendix A.2).

    It adds position scores over 2T distances and their projection, segment scores, and for
    `queries` tokens a second stream, whose scores transformers computes for all T tokens.
    """
    hidden, width = size.hidden_size, size.attention_size
    relative = 2 * tokens**2 * width + 2 * tokens * width + 2 * tokens**2 * size.num_heads
    content = 2 * tokens * hidden * width + relative
    query = 0.0
    if queries:
        mapped = 2 * queries * tokens * width  # to the positions of the text, and back
        projected = 2 * queries * hidden * width
        feed_forward = 2 * queries * hidden * size.intermediate_size
        query = projected + mapped + 2 * tokens**2 * width + relative + feed_forward
    return size.num_layers * (content + query)


def _recurrent(architecture: Architecture, size: Size, tokens: float) -> float:
    """The gates for input and state, in each layer and direction."""
    directions, state, read = recurrent_widths(architecture, size)
    gates = recurrent_gates(architecture)
    width = embedding_width(architecture, size)
    inputs = width + (size.num_layers - 1) * read
    cells = gates * directions * state * (inputs + size.num_layers * state)
    embedding = multiply_adds(width, architecture.characters) if architecture.characters else 0
    return float(tokens * (cells + embedding))
