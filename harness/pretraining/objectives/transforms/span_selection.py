"""Selection of the tokens, words, n-grams and spans to mask.

Shapes: B rows, T positions, W words of the row with the most; word counts are per row. A word
extends to the next word start, also across a separator.
"""

import numpy as np

from harness.pretraining.objectives.transforms.array_ops import filled


def draw_tokens(maskable: np.ndarray, budget: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """[B, T] bool: `budget` [B] draws of a maskable position with replacement."""
    counts = maskable.sum(1)
    columns = np.argsort(~maskable, axis=1, kind="stable")
    draws = rng.random((len(budget), int(budget.max(initial=0)))) * counts[:, None]
    row, draw = np.nonzero(filled(np.where(counts > 0, budget, 0), draws.shape[1]))
    chosen = np.zeros_like(maskable)
    chosen[row, columns[row, draws[row, draw].astype(np.int64)]] = True
    return chosen


def choose_words(
    maskable: np.ndarray, starts: np.ndarray, key: np.ndarray, budget: np.ndarray
) -> np.ndarray:
    """[B, T] bool: whole words in the order of the keys of their first tokens.

    A word that would exceed the row's remaining `budget` [B] is skipped, as in
    google-research/bert with `do_whole_word_mask`, so that a row may not spend all of its budget.
    """
    shortest = np.ones((len(maskable), int(starts.sum(1).max(initial=0))), dtype=np.int64)
    return choose_ngrams(maskable, starts, key, shortest, budget)


def choose_ngrams(
    maskable: np.ndarray,
    starts: np.ndarray,
    key: np.ndarray,
    lengths: np.ndarray,
    budget: np.ndarray,
) -> np.ndarray:
    """[B, T] bool: n-grams of words in the order of the keys of their first tokens.

    As in google-research/albert `create_masked_lm_predictions`: an n-gram that would exceed the
    row's remaining `budget` [B] is shortened word by word, and skipped if even its first word
    exceeds it, or if any of its words is taken. N-grams are cut at the row's last word.

    Args:
        lengths: [B, W] words of the n-gram that begins at each word.
    """
    counts = starts.sum(1)
    num_words = int(counts.max(initial=0))
    if not num_words:
        return np.zeros_like(maskable)
    word = np.maximum(np.cumsum(starts, axis=1) - 1, 0)  # [B, T]; outside text, the word before
    sizes = np.zeros((len(starts), num_words), dtype=np.int64)
    np.add.at(sizes, (np.nonzero(maskable)[0], word[maskable]), 1)
    row = np.arange(len(maskable))
    keys = np.full(sizes.shape, np.inf)
    keys[filled(counts, num_words)] = key[starts]
    order = np.argsort(keys, axis=1)
    # ends[w] - ends[v] is the number of tokens in the words v to w - 1.
    ends = np.concatenate((np.zeros_like(counts)[:, None], sizes.cumsum(1)), axis=1)
    taken = np.zeros(sizes.shape, dtype=bool)
    left = budget.copy()
    for rank in range(num_words):
        first = order[:, rank]
        stop = np.minimum(first + lengths[row, first], num_words)
        for _ in range(int(lengths.max(initial=1)) - 1):
            stop -= (ends[row, stop] - ends[row, first] > left) & (stop > first + 1)
        size = ends[row, stop] - ends[row, first]
        accepted = (size <= left) & (rank < counts)
        gram = (np.arange(num_words) >= first[:, None]) & (np.arange(num_words) < stop[:, None])
        accepted &= ~(gram & taken).any(1)
        taken |= gram & accepted[:, None]
        left -= size * accepted
        if not left.any():
            break
    return maskable & np.take_along_axis(taken, word, axis=1)


def choose_spans(
    maskable: np.ndarray,
    starts: np.ndarray,
    length_shares: np.ndarray,
    budget: np.ndarray,
    rng: np.random.Generator,
) -> np.ndarray:
    """[B, T] bool: spans of words until each row has exactly `budget` [B] tokens.

    As in facebookresearch/SpanBERT `PairWithSpanMaskingScheme`: a span begins with the word of a
    token drawn from those not yet chosen, continues over chosen words, and is cut where the budget
    is spent or the text ends. The budget is at most the number of tokens in the text.

    Args:
        length_shares: [L] probability of a span of 1, 2, .. L words.
    """
    number = np.cumsum(starts, axis=1)
    key = rng.random(maskable.shape)
    chosen = np.zeros_like(maskable)
    row = np.arange(len(maskable))
    left = budget.copy()
    while left.any():
        # Of positions in a random order, the first that is free is uniform over the free ones.
        anchor = np.argmin(np.where(maskable & ~chosen, key, np.inf), axis=1)
        length = 1 + rng.choice(len(length_shares), size=len(row), p=length_shares)
        first = number[row, anchor][:, None]
        new = maskable & ~chosen & (number >= first) & (number < first + length[:, None])
        new &= np.cumsum(new, axis=1) <= left[:, None]
        chosen |= new
        left -= new.sum(1)
    return chosen
