"""Shapes that follow from architecture and size."""

from harness.models import Architecture, Size

SEGMENTED = ("bert", "albert", "electra")
"""Families that always have two segment embeddings."""
TRANSFORMED = (
    "bert", "roberta", "albert", "electra", "deberta", "deberta_v3", "distilbert", "modernbert",
)  # fmt: skip
"""Families with a dense layer before the output matrix."""


def segment_types(architecture: Architecture, pair_format: bool) -> int:
    """Rows of the segment embedding; RoBERTa has a second one for pairs only."""
    if architecture.family == "roberta":
        return 2 if pair_format else 1
    return 2 if architecture.family in SEGMENTED else 0


def position_rows(architecture: Architecture) -> int:
    """Rows of the position embedding; RoBERTa, BART and OPT have two extra rows before the first
    position."""
    shifted = architecture.family in ("roberta", "bart", "opt")
    return architecture.max_position + 2 * shifted


def position_buckets(architecture: Architecture) -> int:
    """Relative distances on each side that DeBERTa distinguishes: all, or DeBERTaV3's buckets."""
    longest = architecture.max_position
    return min(256, longest // 2) if architecture.family == "deberta_v3" else longest


def embedding_width(architecture: Architecture, size: Size) -> int:
    """Width of the token embeddings; by default that of the states, or of one direction of ELMo."""
    own = size.hidden_size // 2 if architecture.family == "elmo" else size.hidden_size
    return architecture.embedding_size or own


def decoder_layers(architecture: Architecture, size: Size) -> int:
    """Layers of an encoder-decoder's decoder."""
    return architecture.num_decoder_layers or size.num_layers


def has_decoder(architecture: Architecture, representation: str = "") -> bool:
    """Whether the network has a decoder; a T5 as a single stack does not."""
    native = architecture.facts.representations[0]
    return (representation or native) == "encoder_decoder"


def key_value_width(architecture: Architecture, size: Size) -> int:
    """Total width of the key heads; LLaMA and its kin may have fewer of them than query heads."""
    return size.attention_size // size.num_heads * (architecture.num_kv_heads or size.num_heads)


def elmo_is_tied(architecture: Architecture, size: Size) -> bool:
    """Whether the output matrix is the embedding, which requires the width of one direction."""
    fits = embedding_width(architecture, size) == size.hidden_size // 2
    return architecture.tie_embeddings and fits


def linear(inputs: int, outputs: int, bias: bool = True) -> int:
    """Parameters of a dense layer."""
    return inputs * outputs + outputs * bias


def norm(width: int, bias: bool = True) -> int:
    """Parameters of a layer normalisation."""
    return width + width * bias
