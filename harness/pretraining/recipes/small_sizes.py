"""Settings of networks narrower than the published ones, as functions of width, text and budget.

The numbers of a recipe belong to its own size and to billions of tokens. docs/small_models.md gives
the measurements behind those of this file.
"""

import math
from typing import Any

from harness.data.corpora.local_files import corpus_bytes
from harness.data.corpora.sources import (
    Corpus,
    LocalCorpus,
    MicroworldCorpus,
    sources_of,
)
from harness.models import Size
from harness.pretraining.budget import MAX_BATCH_SIZE, Budget

PUBLISHED_WIDTH = 512
"""Hidden size from which the settings of the recipe apply."""
MIN_BATCH_TOKENS = 512
UPDATES = 4_000
MIN_SEQUENCE_LENGTH, MAX_SEQUENCE_LENGTH = 32, 128
MICROWORLD_VOCAB_SIZE = 1_200
"""Holds every word of the micro-world: 971 WordPiece or 1,201 byte-level BPE tokens are learned."""
MIN_VOCAB_SIZE, MAX_VOCAB_SIZE = 2_000, 8_200
BYTES_PER_TOKEN = 4.5
COMMON_SHARE, COMMON_COUNT = 0.95, 100
"""Share of the entries that should occur so often in the text (Gowda and May 2020, section 5)."""
EULER = 0.58
"""Euler's constant: the n-th harmonic number is about log(n) + EULER."""
MAX_GRAD_NORM = {"t5": 1.0, "modernbert": 1.0, "elmo": 10.0}
"""Family to the norm of clipped gradients, where that of the recipe is for another optimiser."""

IMPLIED: dict[str, tuple[str, ...]] = {
    "optimizer.kind": ("size",),
    "optimizer.learning_rate": ("size",),
    "optimizer.max_grad_norm": ("size",),
    "optimizer.embedding_learning_rate_factor": ("size",),
    "schedule.warmup_fraction": ("size",),
    "model.dropout": ("size",),
    "model.attention_dropout": ("size",),
    "model.initializer_range": ("size",),
    "model.num_kv_heads": ("size",),
    "phases": ("size",),
    "tokenizer.vocab_size": ("size", "corpus"),
    "batch_size": ("size", "phases", "budget"),
    "budget.tokens": ("size",),
    "budget.steps": ("size",),
    "evaluate.finetune.learning_rate": ("size",),
    "evaluate.finetune.epochs": ("size",),
    "evaluate.finetune.batch_size": ("size",),
    "evaluate.protocol.pooling": ("size",),
    "evaluate.protocol.head_dropout": ("size",),
}
"""Field, below `pretrain` unless it starts with `evaluate`, to the fields of `pretrain` that
determine it where it is not set."""


def is_small(size: Size, published: Size) -> bool:
    """Whether a network is narrower than the published ones, so that these settings apply.

    Args:
        published: the size of the recipe.
    """
    return size.hidden_size < min(PUBLISHED_WIDTH, published.hidden_size)


def pretraining_settings(size: Size, corpus: Corpus, family: str) -> dict[str, Any]:
    """Fields of `pretrain` of a small network, except `batch_size`.

    The learning rate of matrices falls as 1 / width, that of embeddings is constant, and the
    standard deviation of initial weights falls as 1 / sqrt(width): muP for Adam (Yang et al. 2021,
    table 8).
    """
    width = size.hidden_size
    length = min(max(width // 2, MIN_SEQUENCE_LENGTH), MAX_SEQUENCE_LENGTH)
    return {
        "optimizer": optimizer_settings(size, family),
        "schedule": {"warmup_fraction": 0.06},  # Liu et al. 2019, table 9
        "model": _model_settings(width, family),
        "phases": ({"fraction": 1.0, "sequence_length": length},),
        "tokenizer": {"vocab_size": vocabulary_size(corpus)},
        "budget": {"tokens": default_tokens(size)},
    }


def optimizer_settings(size: Size, family: str) -> dict[str, Any]:
    """Fields of the optimizer: AdamW, but for T5 its published Adafactor, with which it learns more
    here (docs/small_models.md). Its steps are relative to the weights, so that the rate does not
    depend on the width."""
    norm = {"max_grad_norm": MAX_GRAD_NORM[family]} if family in MAX_GRAD_NORM else {}
    if family == "t5":
        rates = {"learning_rate": 0.03, "embedding_learning_rate_factor": 2.0}
        return {"kind": "adafactor", **norm, **rates}
    return {
        "kind": "adamw",
        **norm,
        "learning_rate": _rounded(0.128 / size.hidden_size),
        "embedding_learning_rate_factor": _rounded(size.hidden_size / 32),
    }


def _model_settings(width: int, family: str) -> dict[str, float]:
    if family == "t5":  # scales its initial weights by their shapes, and has one dropout rate
        return {"dropout": 0.0}
    scale = _rounded(0.02 * math.sqrt(768 / width))
    return {"dropout": 0.0, "attention_dropout": 0.0, "initializer_range": scale}


def key_value_heads(size: Size, published: Size, num_kv_heads: int) -> int:
    """Key and value heads of a small network, each shared by as many query heads as in the recipe,
    or by the largest part of them that divides the heads.

    Args:
        num_kv_heads: those of the recipe, whose size is `published`.
    """
    shared = math.gcd(size.num_heads, published.num_heads // num_kv_heads)
    return size.num_heads // shared


def default_tokens(size: Size) -> int:
    """Training tokens if no budget is declared: 20 per parameter of the layers (Hoffmann et al.
    2022, table 3), of which there are 12 x layers x width^2 (Kaplan et al. 2020, table 1)."""
    return 20 * 12 * size.num_layers * size.hidden_size**2


def vocabulary_size(corpus: Corpus) -> int:
    """Declared size of the vocabulary learned from a corpus.

    That of local text, or of a mixture of it, is the largest of which COMMON_SHARE of the entries
    occur COMMON_COUNT times, by the size of the files; MIN_VOCAB_SIZE if there are none, which the
    check of data reports.
    """
    sources = sources_of(corpus)
    if all(isinstance(source, MicroworldCorpus) for source in sources):
        return MICROWORLD_VOCAB_SIZE
    local = [one for one in sources if isinstance(one, LocalCorpus)]
    if len(local) < len(sources):
        return MAX_VOCAB_SIZE
    try:
        tokens = sum(map(corpus_bytes, local)) / BYTES_PER_TOKEN
    except ValueError:
        return MIN_VOCAB_SIZE
    sizes = range(MIN_VOCAB_SIZE, MAX_VOCAB_SIZE, 100)
    fitting = [size for size in sizes if _rarest_count(tokens, size) >= COMMON_COUNT]
    return max(fitting, default=MIN_VOCAB_SIZE)


def _rarest_count(tokens: float, vocab_size: int) -> float:
    """Occurrences of the rarest of the COMMON_SHARE most frequent entries, by Zipf's law."""
    return tokens / (COMMON_SHARE * vocab_size * (math.log(vocab_size) + EULER))


def batch_size(budget: Budget, sequence_length: float) -> int:
    """Sequences of `sequence_length` tokens per update, a power of 2: about UPDATES updates, in
    batches of at least MIN_BATCH_TOKENS; that many for budgets in other units than tokens."""
    tokens = max(MIN_BATCH_TOKENS, (budget.tokens or 0) / UPDATES)
    return min(MAX_BATCH_SIZE, max(1, 2 ** round(math.log2(tokens / sequence_length))))


def evaluation_settings(size: Size) -> dict[str, dict[str, Any]]:
    """Fields of `evaluate` of a small network.

    Max pooling, because the first token of a short pretraining without sentence pairs has learned
    little.
    """
    rate = _rounded(0.064 / size.hidden_size)
    return {
        "finetune": {"learning_rate": rate, "epochs": 6, "batch_size": 16},
        "protocol": {"pooling": "max", "head_dropout": 0.0},
    }


def _rounded(value: float) -> float:
    return float(f"{value:.2g}")
