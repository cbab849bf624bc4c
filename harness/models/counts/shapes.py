"""Shapes that follow from architecture and size."""

from harness.models import Architecture, Size

SEGMENTED = ("bert", "albert", "electra")
"""Families that always have two segment embeddings."""
TRANSFORMED = (
    "bert", "roberta", "albert", "electra", "deberta", "deberta_v3", "distilbert", "modernbert",
)  # fmt: skip
"""Families with a dense layer before the output matrix."""

GPT_WIDENING = 4
"""Ratio of GPT's feed-forward and hidden sizes, which is fixed in transformers."""
MASK_DECODER_STEPS = 2
"""Times that DeBERTa's enhanced mask decoder applies the last layer (microsoft/DeBERTa,
apps/models/masked_language_model.py; He et al. 2021, section 3.2, call it n)."""


def segment_types(architecture: Architecture, pair_format: bool) -> int:
    """Rows of the segment embedding; RoBERTa has a second one for pairs only, unless the number is
    declared."""
    if architecture.segment_types:
        return architecture.segment_types
    if architecture.family == "roberta":
        return 2 if pair_format else 1
    return 2 if architecture.family in SEGMENTED else 0


def position_rows(architecture: Architecture) -> int:
    """Rows of the position embedding; RoBERTa, BART and OPT have two extra rows before the first
    position."""
    shifted = architecture.family in ("roberta", "bart", "opt")
    return architecture.max_position + 2 * shifted


def learned_positions(architecture: Architecture) -> int:
    """Rows of the position embedding that are trained."""
    return position_rows(architecture) if architecture.positions is None else 0


def position_buckets(architecture: Architecture) -> int:
    """Relative distances on each side that DeBERTa distinguishes: all, or DeBERTaV3's buckets."""
    longest = architecture.max_position
    return min(256, longest // 2) if architecture.family == "deberta_v3" else longest


def head_width(architecture: Architecture, size: Size) -> int:
    """Width of the state that predicts a token: that of one direction of a bidirectional LM."""
    two_ways = architecture.facts.representations[0] == "bilm"
    return size.hidden_size // (2 if two_ways else 1)


def half_of(architecture: Architecture, size: Size) -> tuple[Architecture, Size]:
    """One direction of a two-way network: a GPT-2."""
    sizes = ("hidden_size", "num_heads", "intermediate_size")
    half = size.model_copy(update={name: getattr(size, name) // 2 for name in sizes})
    return architecture.model_copy(update={"family": "gpt2"}), half


def embedding_width(architecture: Architecture, size: Size) -> int:
    """Width of the token embeddings; by default that of the states that predict tokens."""
    return architecture.embedding_size or head_width(architecture, size)


def decoder_layers(architecture: Architecture, size: Size) -> int:
    """Layers of an encoder-decoder's decoder."""
    return architecture.num_decoder_layers or size.num_layers


def has_decoder(architecture: Architecture, representation: str = "") -> bool:
    """Whether the network has a decoder; a T5 as a single stack does not."""
    native = architecture.facts.representations[0]
    return (representation or native) == "encoder_decoder"


def key_value_width(architecture: Architecture, size: Size) -> int:
    """Total width of the key heads, of which ROTARY families may have fewer than query heads."""
    return size.attention_size // size.num_heads * (architecture.num_kv_heads or size.num_heads)


def recurrent_is_tied(architecture: Architecture, size: Size) -> bool:
    """Whether the output matrix of a recurrent network is the embedding, which requires a vector
    for each token, of the width of the states that predict tokens."""
    fits = embedding_width(architecture, size) == head_width(architecture, size)
    return architecture.tie_embeddings and fits and not architecture.characters


def recurrent_widths(architecture: Architecture, size: Size) -> tuple[int, int, int]:
    """The directions of a recurrent network, the width of the states of one, and that of what the
    layers above the lowest read."""
    directions = 1 if architecture.family == "lstm" else 2
    return directions, size.hidden_size // directions, head_width(architecture, size)


def recurrent_gates(architecture: Architecture) -> int:
    """Products with input and state in one step of a recurrent network: an LSTM's gates and its
    candidate, a GRU's, or the state alone."""
    return {"lstm": 4, "gru": 3, "rnn": 1}[architecture.block["cell"]]


def linear(inputs: int, outputs: int, bias: bool = True) -> int:
    """Parameters of a dense layer."""
    return inputs * outputs + outputs * bias


def norm(width: int, bias: bool = True) -> int:
    """Parameters of a layer normalisation."""
    return width + width * bias
