"""Token masking: which tokens are to be predicted, and what the model sees in their place.

Shapes: B sequences, T positions. A batch of one sequence, with one of its 3 tokens chosen:

    tokens    [[2, 7, 8, 9, 3, 0]]           [CLS] 7 8 9 [SEP] [PAD]
    maskable  [[F, T, T, T, F, F]]
    inputs    [[2, 7, 4, 9, 3, 0]]           [CLS] 7 [MASK] 9 [SEP] [PAD]
    chosen    [[F, F, T, F, F, F]]           the targets are tokens[chosen]
"""

from collections.abc import Sequence

import numpy as np

from harness.objectives import Objective
from harness.objectives.vocabulary import Vocabulary

NUM_DRAWS = 3
"""Uniform numbers in [0, 1) that each position needs: what is chosen, what becomes of it, and which
random token it turns into."""


def joint_draws(shape: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    """[3, B, T] draws for a whole batch: dynamic masking."""
    return rng.random((NUM_DRAWS, *shape))


def row_draws(lengths: np.ndarray, width: int, seeds: Sequence[Sequence[int]]) -> np.ndarray:
    """[3, B, T] draws, each row from a seed of its own: static masking.

    A row draws for its own length [B], so that its mask does not depend on the batch it is in.
    """
    draws = np.zeros((NUM_DRAWS, len(lengths), width))
    for row, (length, seed) in enumerate(zip(lengths, seeds, strict=True)):
        draws[:, row, :length] = np.random.default_rng(seed).random((NUM_DRAWS, length))
    return draws


def mask_tokens(
    tokens: np.ndarray,
    maskable: np.ndarray,
    draws: np.ndarray,
    objective: Objective,
    vocabulary: Vocabulary,
) -> tuple[np.ndarray, np.ndarray]:
    """Hides tokens of a batch for prediction (Devlin et al. 2019, section 3.1 and appendix A.1).

    Of a sequence of n tokens, special ones included, max(1, round(mask_rate x n)) are chosen, as
    in google-research/bert `create_masked_lm_predictions`; its bound of max_predictions is left
    out, as BERT sets it above that count. Random tokens are uniform over the vocabulary without its
    special tokens, as in fairseq; BERT draws from all of it.

    Args:
        tokens: [B, T] with special tokens and padding.
        maskable: [B, T] bool, True at the tokens of the text.
        draws: [3, B, T] from `joint_draws` or `row_draws`.

    Returns:
        inputs [B, T], and chosen [B, T] bool, True where the token is to be predicted.
    """
    lengths = (tokens != vocabulary.pad).sum(1)
    budget = np.maximum(1, np.rint(objective.mask_rate * lengths)).astype(np.int64)
    choose_key, fate, replacement = draws
    if objective.whole_word:
        starts = word_starts(tokens, maskable, vocabulary)
        chosen = choose_words(maskable, starts, choose_key, budget)
    else:
        chosen = choose_tokens(maskable, choose_key, budget)
    to_mask = chosen & (fate < objective.mask_token_rate)
    to_random = chosen & ~to_mask & (fate < objective.mask_token_rate + objective.random_token_rate)
    inputs = np.where(to_mask, vocabulary.mask, tokens)
    ordinary = vocabulary.ordinary
    inputs[to_random] = ordinary[(replacement[to_random] * len(ordinary)).astype(np.int64)]
    return inputs, chosen


def choose_tokens(maskable: np.ndarray, key: np.ndarray, budget: np.ndarray) -> np.ndarray:
    """[B, T] bool: in each row, the `budget` [B] maskable positions with the smallest keys."""
    order = np.argsort(np.where(maskable, key, np.inf), axis=1)
    taken = np.arange(maskable.shape[1]) < budget[:, None]
    chosen = np.zeros_like(maskable)
    np.put_along_axis(chosen, order, taken, axis=1)
    return chosen & maskable


def word_starts(tokens: np.ndarray, maskable: np.ndarray, vocabulary: Vocabulary) -> np.ndarray:
    """[B, T] bool: first token of each word, or of what truncation left of it."""
    after_special = np.ones_like(maskable)
    after_special[:, 1:] = ~maskable[:, :-1]
    return maskable & (vocabulary.word_start[tokens] | after_special)


def choose_words(
    maskable: np.ndarray, starts: np.ndarray, key: np.ndarray, budget: np.ndarray
) -> np.ndarray:
    """[B, T] bool: whole words in the order of the keys of their first tokens.

    A word that would exceed what is left of the row's `budget` [B] is skipped, as in
    google-research/bert with `do_whole_word_mask`; so a row may stay below its budget.
    """
    rows = np.arange(len(maskable))
    word = np.cumsum(starts, axis=1) - 1  # [B, T] number of the word in its row
    num_words = int(starts.sum(1).max())
    sizes = np.zeros((len(maskable), num_words), dtype=np.int64)
    row_of, column_of = np.nonzero(maskable)
    np.add.at(sizes, (row_of, word[row_of, column_of]), 1)
    keys = np.full(sizes.shape, np.inf)
    keys[np.nonzero(starts)[0], word[starts]] = key[starts]
    order = np.argsort(keys, axis=1)
    taken = np.zeros(sizes.shape, dtype=bool)
    left = budget.copy()
    for rank in range(num_words):
        candidate = order[:, rank]
        size = sizes[rows, candidate]
        fits = size <= left  # a row with fewer words has empty ones at the end: harmless
        taken[rows, candidate] = fits
        left -= size * fits
        if not left.any():
            break
    return maskable & taken[rows[:, None], np.maximum(word, 0)]
