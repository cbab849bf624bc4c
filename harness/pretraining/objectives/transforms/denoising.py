"""BART's noises, in fairseq's order: permute sentences, mask and infill, delete, rotate.

Shapes: B rows, N tokens of the longest text, M of the longest noisy text. The text of a row is its
maskable tokens: separators inside are left out of the source. The tokens before the text ([CLS], a
mode token) remain first, and the end token last.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from pydantic import Field

from harness.pretraining.objectives.layout import Rows
from harness.pretraining.objectives.transforms.array_ops import (
    choose_tokens,
    covered,
    filled,
    packed,
    shuffled,
)
from harness.pretraining.objectives.transforms.transform import Transform, TransformResult
from harness.pretraining.objectives.vocabulary import Vocabulary


class Denoising(Transform):
    """BART's five noises in any mixture (Lewis et al. 2020, section 2.2), in fairseq's order:
    sentences permuted, tokens masked or infilled, tokens deleted, text rotated."""

    kind: Literal["denoising"] = "denoising"
    mask_rate: float = Field(default=0.0, ge=0, lt=1)
    """Token masking: share of the tokens that become a mask token, one for one."""
    delete_rate: float = Field(default=0.0, ge=0, lt=1)
    """Token deletion: share of the tokens that are removed."""
    infill_rate: float = Field(default=0.0, ge=0, lt=1)
    """Text infilling: share of the tokens in spans that become one mask token each."""
    poisson_lambda: float = Field(default=3.0, ge=0.5)
    """Mean length of an infilled span; spans of length 0 insert a mask token."""
    permute_sentences: float = Field(default=0.0, ge=0, le=1)
    """Share of the sentences that are put in a random order."""
    rotate_rate: float = Field(default=0.0, ge=0, le=1)
    """Share of the sequences that start at a random token."""

    @property
    def gap_filler(self) -> str | None:
        """That of the first noise with a rate: infilling, masking, deletion."""
        rates = (self.infill_rate, self.mask_rate, self.delete_rate)
        fillers = zip(("mask", "mask_per_token", "nothing"), rates, strict=True)
        return next((filler for filler, rate in fillers if rate), None)


@dataclass
class Text:
    """The texts of a batch, changed noise by noise."""

    column: np.ndarray
    """[B, N] column of each token in its row."""
    tokens: np.ndarray
    """[B, N] tokens, or masks."""
    real: np.ndarray
    """[B, N] bool: tokens and not padding."""
    hidden: np.ndarray
    """[B, N] bool: masked, infilled or deleted."""
    gone: np.ndarray
    """[B, N] bool: removed, without a mask."""


def denoising(
    settings: Denoising, rows: Rows, rng: np.random.Generator, vocabulary: Vocabulary
) -> TransformResult:
    """Rows [B, T] under any mixture of BART's five noises (Lewis et al. 2020, section 2.2).

    Counts are rounded up, as in fairseq (fairseq/data/denoising_dataset.py). `chosen` marks the
    masked, infilled, deleted and moved tokens.
    """
    column, count = packed(
        np.broadcast_to(np.arange(rows.tokens.shape[1]), rows.tokens.shape), rows.maskable, 0
    )
    real = filled(count, column.shape[1])
    if settings.permute_sentences:
        starts = np.take_along_axis(rows.sentence_starts, column, axis=1)
        column = permuted_sentences(column, starts, real, settings.permute_sentences, rng)
    tokens = np.take_along_axis(rows.tokens, column, axis=1)
    text = Text(column, tokens, real, *np.zeros((2, *real.shape), dtype=bool))
    moved = real & _moved(column, real)
    _mask(text, settings.mask_rate, rng, vocabulary)
    inserted = _infill(text, settings, rng, vocabulary)
    _delete(text, settings.delete_rate, rng)
    noisy, lengths = packed(text.tokens, real & ~text.gone, vocabulary.pad)
    noisy, lengths = with_insertions(noisy, lengths, inserted, rng, vocabulary)
    is_rotated = rng.random(len(count)) < settings.rotate_rate
    noisy, offset = rotated(noisy, lengths, is_rotated, rng)
    moved |= real & (offset > 0)[:, None]
    chosen = np.zeros_like(rows.maskable)
    changed = real & (text.hidden | moved)
    chosen[np.nonzero(changed)[0], column[changed]] = True
    source, total = _framed(rows, noisy, lengths, vocabulary)
    return TransformResult(source, total, chosen, aligned=False)


def permuted_sentences(
    column: np.ndarray,
    starts: np.ndarray,
    real: np.ndarray,
    share: float,
    rng: np.random.Generator,
) -> np.ndarray:
    """[B, N] `column` with ceil(share x S) of each text's S sentences permuted.

    Tokens before the first start form a sentence.
    """
    starts = starts & real
    starts[:, :1] = real[:, :1]
    sentence = np.cumsum(starts, axis=1) - 1
    count = starts.sum(1)
    valid = filled(count, int(count.max(initial=0)))
    num_moved = np.ceil(count * share - 1e-9).astype(np.int64)
    chosen = choose_tokens(valid, rng.random(valid.shape), num_moved)
    slot = shuffled(np.tile(np.arange(valid.shape[1]), (len(valid), 1)), chosen, rng)
    key = np.where(real, np.take_along_axis(slot, np.maximum(sentence, 0), axis=1), real.shape[1])
    order = np.argsort(key, axis=1, kind="stable")
    return np.take_along_axis(column, order, axis=1)


def _moved(column: np.ndarray, real: np.ndarray) -> np.ndarray:
    """[B, N] bool: tokens that are not at their original position in the text."""
    in_order = np.sort(np.where(real, column, np.iinfo(column.dtype).max), axis=1)
    different: np.ndarray = in_order != column
    return different


def _mask(text: Text, rate: float, rng: np.random.Generator, vocabulary: Vocabulary) -> None:
    """Token masking: ceil(rate x n) single tokens become a mask each."""
    if rate:
        chosen = _choose(text.real, text.real, rate, rng)
        text.tokens[chosen] = vocabulary.mask
        text.hidden |= chosen


def _delete(text: Text, rate: float, rng: np.random.Generator) -> None:
    """Token deletion: ceil(rate x n) of the tokens that are not yet hidden are removed."""
    if rate:
        chosen = _choose(text.real & ~text.hidden, text.real, rate, rng)
        text.gone |= chosen
        text.hidden |= chosen


def _choose(
    free: np.ndarray, counted: np.ndarray, rate: float, rng: np.random.Generator
) -> np.ndarray:
    """[B, N] bool: ceil(rate x those counted) of the free ones, or all of these."""
    budget = np.ceil(rate * counted.sum(1) - 1e-9).astype(np.int64)
    return choose_tokens(free, rng.random(free.shape), budget)


def _infill(
    text: Text, settings: Denoising, rng: np.random.Generator, vocabulary: Vocabulary
) -> np.ndarray:
    """Text infilling: spans of words become one mask each; returns [B] masks to insert.

    As fairseq's `add_whole_word_mask`: lengths are drawn until they sum to ceil(rate x words), the
    last one cut; spans start at distinct words, but may overlap or reach the end, so
    that less is hidden (26.7 % of 512 tokens at a rate of 0.3). A span inside another has no mask.
    """
    if not settings.infill_rate:
        return np.zeros(len(text.real), dtype=np.int64)
    starts = vocabulary.word_starts(text.tokens, text.real)
    num_words = starts.sum(1)
    budget = np.ceil(settings.infill_rate * num_words - 1e-9).astype(np.int64)
    lengths, inserted = poisson_lengths(budget, settings.poisson_lambda, rng)
    width = text.real.shape[1]
    # [B, W + 2] start of each word, and the end of the text beyond the last word.
    begin = np.repeat(text.real.sum(1)[:, None], int(num_words.max(initial=0)) + 2, axis=1)
    begin[filled(num_words, begin.shape[1])] = np.nonzero(starts)[1]
    words = filled(num_words, begin.shape[1])
    first = np.argsort(np.where(words, rng.random(words.shape), np.inf), axis=1)
    first = first[:, : lengths.shape[1]]
    after = np.minimum(first + lengths, num_words[:, None])
    left = np.where(lengths > 0, np.take_along_axis(begin, first, axis=1), width)
    right = np.where(lengths > 0, np.take_along_axis(begin, after, axis=1), width)
    rest = covered(left + 1, right, width)
    at_start = covered(left, left + 1, width)
    text.tokens[at_start] = vocabulary.mask
    text.gone |= rest
    text.hidden |= rest | at_start
    return inserted


def poisson_lengths(
    budget: np.ndarray, mean: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """[B, K] positive span lengths that sum to `budget` [B], padded with 0; and [B] the number of
    lengths 0 that were drawn in between."""
    size = len(budget), max(1, int(budget.max(initial=0)))
    drawn = rng.poisson(mean, size)
    while (drawn.sum(1) < budget).any():
        drawn = np.concatenate((drawn, rng.poisson(mean, size)), axis=1)
    total = np.cumsum(drawn, axis=1)
    before = total - drawn
    used = before < budget[:, None]
    cut = np.minimum(drawn, budget[:, None] - before)
    return packed(cut, used & (drawn > 0), 0)[0], (used & (drawn == 0)).sum(1)


def with_insertions(
    tokens: np.ndarray,
    lengths: np.ndarray,
    inserted: np.ndarray,
    rng: np.random.Generator,
    vocabulary: Vocabulary,
) -> tuple[np.ndarray, np.ndarray]:
    """[B, M] tokens with `inserted` [B] masks at uniformly random positions; and [B] lengths."""
    if not inserted.any():
        return tokens, lengths
    total = lengths + inserted
    real = filled(total, int(total.max()))
    new = choose_tokens(real, rng.random(real.shape), inserted)
    result = np.where(new, vocabulary.mask, vocabulary.pad)
    result[real & ~new] = tokens[filled(lengths, tokens.shape[1])]
    return result, total


def rotated(
    tokens: np.ndarray, lengths: np.ndarray, is_rotated: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """[B, M] tokens, where the rows `is_rotated` [B] start at a uniformly random token; and [B] the
    original position of that token, 0 in the other rows."""
    size = np.maximum(lengths, 1)
    offset = np.where(is_rotated, rng.integers(0, size), 0)
    place = np.arange(tokens.shape[1])
    source = np.where(place < lengths[:, None], (place + offset[:, None]) % size[:, None], place)
    return np.take_along_axis(tokens, source, axis=1), offset


def _framed(
    rows: Rows, noisy: np.ndarray, lengths: np.ndarray, vocabulary: Vocabulary
) -> tuple[np.ndarray, np.ndarray]:
    """[B, S] the tokens before the text, the noisy text, and the end token; and [B] lengths."""
    before = (rows.maskable.cumsum(1) == 0) & filled(rows.lengths - 1, rows.tokens.shape[1])
    end = np.ones((len(noisy), 1), dtype=bool)
    values = np.concatenate((rows.tokens, noisy, end * vocabulary.sep), axis=1)
    keep = np.concatenate((before, filled(lengths, noisy.shape[1]), end), axis=1)
    return packed(values, keep, vocabulary.pad)
