"""Synthetic rows on which transforms are tried before a run."""

import numpy as np

from harness.pretraining.objectives.layout import Rows
from harness.pretraining.objectives.vocabulary import Vocabulary

NUM_ROWS = 256
SENTENCE = 20
"""Tokens of a sentence."""
SPECIALS = 2
"""First and last token of a row."""


def sample_rows(text: int, length: int, rng: np.random.Generator) -> tuple[Rows, Vocabulary]:
    """Rows [NUM_ROWS, length] of distinct random words, each an identifier, and a vocabulary with a
    sentinel for each.

    Args:
        text: tokens of the text of a row.
        length: tokens of the row; those beyond text, [CLS] and [SEP] are mode tokens.
    """
    pad, cls, sep, mask, mode, first = range(6)
    words = np.arange(first, first + text)
    sentinels = words[-1] + 1 + np.arange(text + 1)
    size = int(sentinels[-1]) + 1
    is_word = np.isin(np.arange(size), words)
    names = tuple(f"word{token}" if is_word[token] else "" for token in range(size))
    vocabulary = Vocabulary(
        size, pad, cls, sep, mask, ~is_word, is_word, sentinels=sentinels, words=names
    )
    before = [cls] + [mode] * (length - text - SPECIALS)
    tokens = np.array([[*before, *rng.permutation(words), sep] for _ in range(NUM_ROWS)])
    maskable = is_word[tokens]
    starts = maskable & ((np.arange(length) - len(before)) % SENTENCE == 0)
    lengths = np.full(NUM_ROWS, length)
    nothing, numbers = np.zeros_like(tokens), np.where(maskable, tokens, -1)
    rows = Rows(tokens, nothing, maskable, lengths, starts, identifiers=numbers)
    return rows, vocabulary


def padded_rows(length: int, rng: np.random.Generator) -> tuple[Rows, Vocabulary]:
    """Rows [NUM_ROWS, length] as of `sample_rows` that end after 3 to `length` tokens, the rest of
    them padding."""
    rows, vocabulary = sample_rows(length - SPECIALS, length, rng)
    lengths = rng.integers(1 + SPECIALS, length + 1, NUM_ROWS)
    text = np.arange(length) < lengths[:, None] - 1
    tokens = np.where(text, rows.tokens, vocabulary.pad)
    tokens[np.arange(NUM_ROWS), lengths - 1] = vocabulary.sep
    starts = rows.sentence_starts & text
    maskable = rows.maskable & text
    numbers = np.where(maskable, tokens, -1)
    return Rows(tokens, rows.types, maskable, lengths, starts, identifiers=numbers), vocabulary
