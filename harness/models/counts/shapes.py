"""Numbers of a network that follow from its architecture and size."""

from harness.models import Architecture, Size

SEGMENTED = ("bert", "albert", "electra")
"""Families with two segment embeddings, whatever they read."""
TRANSFORMED = (
    "bert",
    "roberta",
    "albert",
    "electra",
    "deberta",
    "deberta_v3",
    "distilbert",
    "modernbert",
)
"""Families with a dense layer between the last states and the output matrix."""


def segment_types(architecture: Architecture, pair_format: bool) -> int:
    """Rows of the segment embedding; RoBERTa needs a second one for pairs only."""
    if architecture.family == "roberta":
        return 2 if pair_format else 1
    return 2 if architecture.family in SEGMENTED else 0


def position_rows(architecture: Architecture) -> int:
    """Rows of the position embedding; RoBERTa's positions start after the padding's number, and
    BART's table keeps two such rows, too."""
    return architecture.max_position + (2 if architecture.family in ("roberta", "bart") else 0)


def position_buckets(architecture: Architecture) -> int:
    """Relative distances that DeBERTa tells apart on each side: all, or DeBERTaV3's buckets."""
    longest = architecture.max_position
    return min(256, longest // 2) if architecture.family == "deberta_v3" else longest


def embedding_width(architecture: Architecture, size: Size) -> int:
    """Width of the token embeddings; ELMo's are of one direction."""
    own = size.hidden_size // 2 if architecture.family == "elmo" else size.hidden_size
    return architecture.embedding_size or own


def decoder_layers(architecture: Architecture, size: Size) -> int:
    """Layers of an encoder-decoder's decoder."""
    return architecture.num_decoder_layers or size.num_layers


def has_decoder(architecture: Architecture, representation: str = "") -> bool:
    """Whether the network is an encoder with a decoder: not a T5 read as one stack."""
    reading = representation or architecture.facts.representations[0]
    return reading == "encoder_decoder"


def key_value_width(architecture: Architecture, size: Size) -> int:
    """Width of all heads of keys together, which of LLaMA's may be fewer than of queries."""
    return size.attention_size // size.num_heads * (architecture.num_kv_heads or size.num_heads)


def elmo_is_tied(architecture: Architecture, size: Size) -> bool:
    """Whether the output matrix is the embedding, which must be as wide as one direction."""
    fits = embedding_width(architecture, size) == size.hidden_size // 2
    return architecture.tie_embeddings and fits


def linear(inputs: int, outputs: int, bias: bool = True) -> int:
    """Parameters of a dense layer."""
    return inputs * outputs + outputs * bias


def norm(width: int, bias: bool = True) -> int:
    """Parameters of a layer normalisation."""
    return width + width * bias
