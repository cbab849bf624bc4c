"""Parameter counts of all families, without pretraining heads."""

from collections.abc import Callable, Mapping

from harness.models import ROTARY, Architecture, Size
from harness.models.counts.characters import num_parameters
from harness.models.counts.shapes import (
    decoder_layers,
    embedding_width,
    half_of,
    has_decoder,
    key_value_width,
    learned_positions,
    linear,
    norm,
    position_buckets,
    position_rows,
    recurrent_gates,
    recurrent_is_tied,
    recurrent_widths,
    segment_types,
)

T5_BUCKETS = 32
"""Buckets of T5's relative distances (Raffel et al. 2020, section 2.1)."""
POOLED = ("bert", "roberta", "albert")
"""Families whose published counts include the pooler."""


def count_parameters(
    architecture: Architecture,
    size: Size,
    vocab_size: int,
    *,
    pair_format: bool = False,
    representation: str = "",
) -> int:
    """Parameters of the network without pretraining heads.

    As in the literature, the count includes the pooler of BERT, RoBERTa and ALBERT, and untied
    output matrices.

    Args:
        pair_format: whether inputs are pairs of texts.
        representation: empty for the native one of the family.
    """
    if architecture.facts.kind == "baseline":
        return 0
    if architecture.family == "t5":
        return _t5(architecture, size, vocab_size, has_decoder(architecture, representation))
    if architecture.family in _OTHERS:
        return _OTHERS[architecture.family](architecture, size, vocab_size)
    return _encoder(architecture, size, vocab_size, segment_types(architecture, pair_format))


def _attention(size: Size, bias: bool = True) -> int:
    hidden, width = size.hidden_size, size.attention_size
    return 3 * linear(hidden, width, bias) + linear(width, hidden, bias) + norm(hidden, bias)


def _feed_forward(size: Size, bias: bool = True, matrices: int = 2) -> int:
    hidden, inner = size.hidden_size, size.intermediate_size
    into = (matrices - 1) * linear(hidden, inner, bias)
    return into + linear(inner, hidden, bias) + norm(hidden, bias)


def _layer(size: Size) -> int:
    return _attention(size) + _feed_forward(size)


def _encoder(architecture: Architecture, size: Size, vocab_size: int, types: int) -> int:
    """BERT, and RoBERTa, ALBERT, ELECTRA and DistilBERT, which differ in the embeddings."""
    hidden, width = size.hidden_size, embedding_width(architecture, size)
    shared = architecture.family == "albert"  # all layers share their weights
    projected = shared or width != hidden
    return (
        (vocab_size + learned_positions(architecture) + types) * width
        + norm(width)
        + projected * linear(width, hidden)
        + (1 if shared else size.num_layers) * _layer(size)
        + (architecture.family in POOLED) * linear(hidden, hidden)
        - _removed_norms(architecture, size)
    )


def _deberta(architecture: Architecture, size: Size, vocab_size: int) -> int:
    """Each layer projects the distance table twice; DeBERTaV3 shares those of the content."""
    hidden, width = size.hidden_size, embedding_width(architecture, size)
    table = 2 * position_buckets(architecture) * hidden
    tokens = vocab_size * width + norm(width) + (width != hidden) * hidden * width
    if architecture.family == "deberta_v3":
        return tokens + table + norm(hidden) + size.num_layers * _layer(size)
    # no bias in the keys and in one of the two projections
    extra = 2 * hidden * size.attention_size
    return tokens + table + size.num_layers * (_layer(size) + extra)


def _modernbert(_: Architecture, size: Size, vocab_size: int) -> int:
    """No biases; the first layer has no norm of its own (Warner et al. 2024)."""
    hidden = size.hidden_size
    layer = _attention(size, False) + _feed_forward(size, False, matrices=3)
    # plus the norms of embeddings and output, minus one in the first layer
    return vocab_size * hidden + size.num_layers * layer + (2 - 1) * hidden


def _xlnet(_: Architecture, size: Size, vocab_size: int) -> int:
    hidden, width = size.hidden_size, size.attention_size
    relative = 3 * width + 2 * width  # biases of content, position and segment; segment vectors
    attention = 5 * hidden * width + relative + norm(hidden)
    start_of_queries = hidden
    return (
        vocab_size * hidden + start_of_queries + size.num_layers * (attention + _feed_forward(size))
    )


def _removed_norms(architecture: Architecture, size: Size) -> int:
    """Parameters of the norms that `norm` takes from a network; BERT with `pre` has as many in
    other places, GPT-2 with `post` has none above the layers."""
    place = architecture.norm
    number = 2 * size.num_layers + 1 if place == "none" else int(place == "post")
    return number * norm(size.hidden_size)


def _gpt(architecture: Architecture, size: Size, vocab_size: int) -> int:
    tables = (vocab_size + learned_positions(architecture)) * size.hidden_size
    last_norm = norm(size.hidden_size) * (architecture.family != "gpt")
    removed = _removed_norms(architecture, size)
    return tables + size.num_layers * _layer(size) + last_norm - removed


def _gpt_neo(architecture: Architecture, size: Size, vocab_size: int) -> int:
    """GPT-2 without biases of queries, keys and values."""
    biases = 3 * size.attention_size
    return _gpt(architecture, size, vocab_size) - size.num_layers * biases


def _llama(architecture: Architecture, size: Size, vocab_size: int) -> int:
    """RMS norms; biases of queries, keys and values in Qwen alone."""
    hidden, width = size.hidden_size, size.attention_size
    keys = key_value_width(architecture, size)
    matrices = 1 if architecture.tie_embeddings else 2
    layer = (
        2 * hidden * (width + keys)
        + (architecture.family == "qwen2") * (width + 2 * keys)
        + _feed_forward(size, False, matrices=3)
        + hidden
    )
    return matrices * vocab_size * hidden + size.num_layers * layer + hidden


def _t5(architecture: Architecture, size: Size, vocab_size: int, with_decoder: bool) -> int:
    """RMS norms, no biases, and one table of distances for all layers of a stack."""
    hidden = size.hidden_size
    attention = _attention(size, False)
    layer = attention + _feed_forward(size, False, 3 if architecture.gated_feed_forward else 2)
    around = T5_BUCKETS * size.num_heads + hidden  # distances and the final norm
    matrices = 1 if architecture.tie_embeddings else 2
    count = matrices * vocab_size * hidden + size.num_layers * layer + around
    if not with_decoder:
        return count
    layers = decoder_layers(architecture, size)
    if architecture.share_decoder:  # all but the cross-attention
        return count + layers * attention
    return count + layers * (layer + attention) + around


def _transformer(architecture: Architecture, size: Size, vocab_size: int) -> int:
    """Vaswani et al. 2017: one table of tokens, fixed positions, no norm of the embeddings."""
    decoder = decoder_layers(architecture, size) * (_layer(size) + _attention(size))
    return vocab_size * size.hidden_size + size.num_layers * _layer(size) + decoder


def _bart(architecture: Architecture, size: Size, vocab_size: int) -> int:
    """The Transformer with learned positions and a norm of the embeddings in each half."""
    around = position_rows(architecture) * size.hidden_size + norm(size.hidden_size)
    return _transformer(architecture, size, vocab_size) + 2 * around


def _two_way(architecture: Architecture, size: Size, vocab_size: int) -> int:
    gpt2, half = half_of(architecture, size)
    shared = vocab_size * half.hidden_size
    return 2 * _gpt(gpt2, half, vocab_size) - shared


def _recurrent(architecture: Architecture, size: Size, vocab_size: int) -> int:
    """A cell for each direction and layer, with two biases for each of its gates, as torch's."""
    gates = recurrent_gates(architecture)
    directions, state, read = recurrent_widths(architecture, size)
    width = embedding_width(architecture, size)
    first, later = (gates * (linear(w, state) + linear(state, state)) for w in (width, read))
    output = 0 if recurrent_is_tied(architecture, size) else vocab_size * read
    layers = directions * (first + (size.num_layers - 1) * later)
    tokens = num_parameters(width) if architecture.characters else vocab_size * width
    return tokens + layers + output


def _averaging(architecture: Architecture, size: Size, vocab_size: int) -> int:
    """Embeddings of words and bigrams, and a linear layer for each layer."""
    hidden, buckets = size.hidden_size, architecture.bigram_buckets
    rows = vocab_size + (vocab_size if buckets is None else buckets)
    return rows * hidden + size.num_layers * linear(hidden, hidden)


def _static(_: Architecture, size: Size, vocab_size: int) -> int:
    return 2 * vocab_size * size.hidden_size  # input and output vectors


_OTHERS: Mapping[str, Callable[[Architecture, Size, int], int]] = {
    "deberta": _deberta,
    "deberta_v3": _deberta,
    "modernbert": _modernbert,
    "xlnet": _xlnet,
    "gpt": _gpt,
    "gpt2": _gpt,
    "opt": _gpt,
    "gpt_neo": _gpt_neo,
    **dict.fromkeys(ROTARY, _llama),
    "bart": _bart,
    "transformer": _transformer,
    "two_way_gpt2": _two_way,
    "lstm": _recurrent,
    "bilstm": _recurrent,
    "elmo": _recurrent,
    "dan": _averaging,
    "static": _static,
}
