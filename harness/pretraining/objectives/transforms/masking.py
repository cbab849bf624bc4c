"""Masking: tokens of the text are replaced in place and predicted.

Shapes: B rows, T positions. A batch of one row, with one of its 3 tokens chosen:

    tokens    [[2, 7, 8, 9, 3, 0]]           [CLS] 7 8 9 [SEP] [PAD]
    maskable  [[F, T, T, T, F, F]]
    inputs    [[2, 7, 4, 9, 3, 0]]           [CLS] 7 [MASK] 9 [SEP] [PAD]
    chosen    [[F, F, T, F, F, F]]           the targets are tokens[chosen]
"""

from typing import Annotated, Literal, Self

import numpy as np
from pydantic import BeforeValidator, Field, model_validator

from harness.core.config import as_tuples
from harness.pretraining.objectives.layout import Rows
from harness.pretraining.objectives.transforms.array_ops import choose_tokens, runs
from harness.pretraining.objectives.transforms.span_selection import (
    choose_ngrams,
    choose_spans,
    choose_words,
    draw_tokens,
)
from harness.pretraining.objectives.transforms.transform import Transform, TransformResult
from harness.pretraining.objectives.vocabulary import Vocabulary

Share = Annotated[float, Field(ge=0, le=1)]


class Masking(Transform):
    """Base of the masking transforms (Devlin et al. 2019, section 3.1)."""

    mask_rate: float = Field(default=0.15, gt=0, lt=1)
    """Share of the tokens of a sequence chosen for prediction."""
    mask_token_rate: float = Field(default=0.8, ge=0, le=1)
    """Share of the chosen tokens that become the mask token."""
    random_token_rate: float = Field(default=0.1, ge=0, le=1)
    """Share of the chosen tokens that become a random token; the rest are unchanged."""

    @property
    def gap_filler(self) -> str:
        """One mask per token."""
        return "mask_per_token"

    @model_validator(mode="after")
    def _rates(self) -> Self:
        total = self.mask_token_rate + self.random_token_rate
        if total > 1 + 1e-9:
            raise ValueError(
                f"mask_token_rate + random_token_rate must be at most 1, but they sum to {total:g}"
            )
        return self


class TokenMasking(Masking):
    """Random single tokens or whole words (Devlin et al. 2019, section 3.1)."""

    kind: Literal["token_masking"] = "token_masking"
    whole_word: bool = False
    """Choose whole words instead of single word pieces."""
    with_replacement: bool = False
    """Draw positions with replacement, so that fewer distinct ones are chosen
    (google-research/electra, pretrain_helpers.py)."""

    @model_validator(mode="after")
    def _one_way_of_choosing(self) -> Self:
        if self.whole_word and self.with_replacement:
            raise ValueError(
                "whole_word draws without replacement, so that with_replacement must be false, but "
                "it is true; set one of them to false"
            )
        return self


class NgramMasking(Masking):
    """N-grams of whole words, length n with p(n) ~ 1/n (Lan et al. 2020, section 3.1)."""

    kind: Literal["ngram_masking"] = "ngram_masking"
    max_ngram: int = Field(default=3, ge=1)
    """Longest n-gram, in words."""
    shares: Annotated[tuple[Share, ...], BeforeValidator(as_tuples)] | None = None
    """p(n) of each length from 1 to max_ngram; null: ~ 1/n."""
    unit: Literal["token"] | None = None
    """`token`: n-grams of tokens, which may begin and end inside a word; null: of whole words."""

    @model_validator(mode="after")
    def _shares_of_all_lengths(self) -> Self:
        if self.shares is None:
            return self
        if len(self.shares) != self.max_ngram:
            raise ValueError(
                f"shares must have one number for each length up to max_ngram = {self.max_ngram}, "
                f"but has {len(self.shares)}"
            )
        if abs(sum(self.shares) - 1) > 1e-6:
            raise ValueError(f"shares must sum to 1, but they sum to {sum(self.shares):g}")
        return self

    @property
    def probabilities(self) -> np.ndarray:
        """[max_ngram] p(n) of the lengths from 1."""
        given = self.shares or 1 / np.arange(1, self.max_ngram + 1)
        return np.asarray(given) / np.sum(given)


class SpanMasking(Masking):
    """Spans of words of geometric length, replaced as a whole (Joshi et al. 2020, 3.1)."""

    kind: Literal["span_masking"] = "span_masking"
    geometric_p: float = Field(default=0.2, gt=0, lt=1)
    """Parameter of the geometric distribution of span lengths."""
    max_span_length: int = Field(default=10, ge=1)
    """Longest span, in words."""


MASKING = ("token_masking", "ngram_masking", "span_masking")
"""Kinds that mask tokens in place, for the outputs that predict them there."""


def token_masking(
    settings: TokenMasking, rows: Rows, rng: np.random.Generator, vocabulary: Vocabulary
) -> TransformResult:
    """Masks single tokens or whole words of rows [B, T] (Devlin et al. 2019, 3.1 and appendix A.1).

    With replacement (google-research/electra, pretrain_helpers.py `mask`), a position that is drawn
    twice is masked once: of 19 draws from 125 tokens 17.7 are distinct.
    """
    budget = token_budget(settings, rows)
    if settings.with_replacement:
        return hide(settings, rows, draw_tokens(rows.maskable, budget, rng), rng, vocabulary)
    key = rng.random(rows.tokens.shape)
    if settings.whole_word:
        starts = vocabulary.word_starts(rows.tokens, rows.maskable)
        chosen = choose_words(rows.maskable, starts, key, budget)
    else:
        chosen = choose_tokens(rows.maskable, key, budget)
    return hide(settings, rows, chosen, rng, vocabulary)


def ngram_masking(
    settings: NgramMasking, rows: Rows, rng: np.random.Generator, vocabulary: Vocabulary
) -> TransformResult:
    """Masks n-grams of words or tokens of rows [B, T]; by default, p(n) ~ 1/n (Lan et al. 2020,
    section 3.1): 0.545, 0.273, 0.182 for 1 to 3.

    Masked n-grams may be shorter, as they are cut to the budget and never overlap. Each token is
    replaced independently, as in google-research/albert. Adjacent n-grams form one span.
    """
    of_tokens = settings.unit == "token"
    starts = rows.maskable if of_tokens else vocabulary.word_starts(rows.tokens, rows.maskable)
    shape = len(starts), int(starts.sum(1).max(initial=0))
    lengths = 1 + rng.choice(settings.max_ngram, size=shape, p=settings.probabilities)
    key = rng.random(rows.tokens.shape)
    chosen = choose_ngrams(rows.maskable, starts, key, lengths, token_budget(settings, rows))
    return hide(settings, rows, chosen, rng, vocabulary, spans=runs(chosen)[1])


def span_masking(
    settings: SpanMasking, rows: Rows, rng: np.random.Generator, vocabulary: Vocabulary
) -> TransformResult:
    """Masks spans of words of rows [B, T], each span by one replacement (Joshi et al. 2020, 3.1).

    Exactly ceil(mask_rate x n) of the n tokens of a text are chosen, so that the last span may be
    cut inside a word. Lengths in words follow a geometric distribution over 1 to max_span_length.
    Adjacent spans are merged (facebookresearch/SpanBERT, masking.py), hence longer than drawn.
    Random tokens are uniform over the vocabulary; that code draws them from the corpus.
    """
    num_tokens = rows.maskable.sum(1)
    # Without the tolerance, 0.15 x 20 would exceed 3.
    budget = np.ceil(settings.mask_rate * num_tokens - 1e-9).astype(np.int64)
    shares = (1 - settings.geometric_p) ** np.arange(settings.max_span_length)
    starts = vocabulary.word_starts(rows.tokens, rows.maskable)
    chosen = choose_spans(rows.maskable, starts, shares / shares.sum(), budget, rng)
    spans = runs(chosen)[1]
    draw = np.take_along_axis(rng.random(spans.shape), np.maximum(spans, 0), axis=1)
    return hide(settings, rows, chosen, rng, vocabulary, draw, spans)


def token_budget(settings: Masking, rows: Rows) -> np.ndarray:
    """[B] tokens to choose: max(1, round(mask_rate x n)) of a row of n, special tokens counted, as
    in google-research/bert `create_masked_lm_predictions`.

    Its limit max_predictions is omitted, as BERT sets it above that count.
    """
    return np.maximum(1, np.rint(settings.mask_rate * rows.lengths)).astype(np.int64)


def hide(
    settings: Masking,
    rows: Rows,
    chosen: np.ndarray,
    rng: np.random.Generator,
    vocabulary: Vocabulary,
    draw: np.ndarray | None = None,
    spans: np.ndarray | None = None,
) -> TransformResult:
    """Chosen tokens replaced by masks, random tokens or themselves (Devlin et al. 2019, 3.1).

    Random tokens are uniform over the vocabulary without its special tokens, as in fairseq; BERT
    draws from all of it.

    Args:
        draw: [B, T] in [0, 1), which selects the replacement; independent per token by default.
    """
    draw = rng.random(chosen.shape) if draw is None else draw
    to_mask = chosen & (draw < settings.mask_token_rate)
    to_random = chosen & ~to_mask & (draw < settings.mask_token_rate + settings.random_token_rate)
    inputs = np.where(to_mask, vocabulary.mask, rows.tokens)
    ordinary = vocabulary.ordinary
    inputs[to_random] = ordinary[rng.integers(len(ordinary), size=int(to_random.sum()))]
    return TransformResult(inputs, rows.lengths, chosen, aligned=True, spans=spans)
