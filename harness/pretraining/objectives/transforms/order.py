"""Transforms that mask nothing: identity, prefix, deshuffling, permutation order, window."""

from typing import Literal, Self

import numpy as np
from pydantic import Field, model_validator

from harness.pretraining.objectives.layout import Rows
from harness.pretraining.objectives.transforms.array_ops import covered, filled, packed, shuffled
from harness.pretraining.objectives.transforms.transform import Transform, TransformResult
from harness.pretraining.objectives.vocabulary import Vocabulary


class Identity(Transform):
    """The unchanged text."""

    kind: Literal["none"] = "none"


class Prefix(Transform):
    """A random cut into source and target (T5, section 3.2.3)."""

    kind: Literal["prefix"] = "prefix"
    min_target_fraction: float = Field(default=0.0, ge=0, lt=1)
    """Smallest share of the text in the target."""
    max_target_fraction: float = Field(default=1.0, gt=0, le=1)
    """Largest share of the text in the target."""

    @model_validator(mode="after")
    def _order(self) -> Self:
        if self.min_target_fraction > self.max_target_fraction:
            raise ValueError(
                "min_target_fraction must be at most max_target_fraction = "
                f"{self.max_target_fraction:g}, but is {self.min_target_fraction:g}"
            )
        return self


class Deshuffling(Transform):
    """All tokens in a random order (T5, section 3.3.1; Liu et al. 2019b)."""

    kind: Literal["deshuffling"] = "deshuffling"


class PermutationOrder(Transform):
    """A random factorisation order, and the tokens to predict in it (Yang et al. 2019, 2.2-2.3)."""

    kind: Literal["permutation_order"] = "permutation_order"
    max_span_length: int = Field(default=5, ge=1)
    """Span lengths are uniform from 1 to this many tokens."""
    context_factor: int = Field(default=6, ge=2)
    """A span of L tokens is drawn from K x L tokens, so that 1/K of the text is predicted."""


class ContextWindow(Transform):
    """A random window around each token, which predicts the tokens in it (Mikolov et al. 2013a,
    section 3.2)."""

    kind: Literal["context_window"] = "context_window"
    size: int = Field(default=5, ge=1, le=1000)
    """Most tokens on each side: each window has uniformly 1 to this many, so that near tokens are
    predicted more often (Mikolov et al. 2013b, section 4.1: 5)."""


def identity(
    settings: Identity, rows: Rows, rng: np.random.Generator, vocabulary: Vocabulary
) -> TransformResult:
    """The unchanged rows [B, T]."""
    return TransformResult(rows.tokens, rows.lengths, np.zeros_like(rows.maskable), aligned=True)


def prefix(
    settings: Prefix, rows: Rows, rng: np.random.Generator, vocabulary: Vocabulary
) -> TransformResult:
    """A uniform cut of rows [B, T] into source and target (Raffel et al. 2020, section 3.2.3).

    The target has min_target_fraction to max_target_fraction of the text, rounded up if no whole
    number lies between, and each side at least 1 token; a text of one token has no target.
    Separators inside the text belong to the side of the token before them. By default the source
    length is uniform from 1 to n - 1, as in T5's `random_prefix_noise_mask`.
    """
    count = rows.maskable.sum(1)
    most = np.maximum(count - 1, 0)
    least = np.clip(np.ceil(settings.min_target_fraction * count - 1e-9), np.minimum(1, most), most)
    largest = np.clip(np.floor(settings.max_target_fraction * count + 1e-9), least, most)
    target_length = rng.integers(least.astype(np.int64), largest.astype(np.int64), endpoint=True)
    chosen = rows.maskable & (rows.maskable.cumsum(1) > (count - target_length)[:, None])
    after = chosen.cumsum(1) > 0
    is_text = filled(rows.lengths - 1, rows.tokens.shape[1])
    end = rows.lengths - 1 == np.arange(rows.tokens.shape[1])[:, None]
    source, lengths = packed(rows.tokens, (is_text & ~after) | end.T, vocabulary.pad)
    dropped = packed(rows.tokens, is_text & after, vocabulary.pad)
    return TransformResult(source, lengths, chosen, aligned=False, dropped=dropped)


def deshuffling(
    settings: Deshuffling, rows: Rows, rng: np.random.Generator, vocabulary: Vocabulary
) -> TransformResult:
    """All tokens of the text in rows [B, T] in a random order (Raffel et al. 2020, 3.3.1).

    Special tokens and separators inside the text keep their positions.
    """
    inputs = shuffled(rows.tokens, rows.maskable, rng)
    return TransformResult(inputs, rows.lengths, rows.maskable, aligned=False)


def permutation_order(
    settings: PermutationOrder, rows: Rows, rng: np.random.Generator, vocabulary: Vocabulary
) -> TransformResult:
    """A random factorisation order of the tokens to predict (Yang et al. 2019, sections 2.2-2.3).

    The tokens to predict are chosen as in transformers'
    `DataCollatorForPermutationLanguageModeling`: the row is cut into contexts of L x
    `context_factor` positions with L uniform over 1 to `max_span_length`, each with a span of L at
    a uniformly random position, without its special tokens. `order` is -1 at all other positions.
    Position i may not see position j in the query stream where

        chosen[j] & (order[i] <= order[j])

    which is that collator's perm_mask: every position sees the tokens that are not chosen, which
    see no chosen token; a chosen token sees those before it in the order, never itself. In the
    content stream it also sees itself (order[i] < order[j]).

    There are three differences. The inputs keep the chosen tokens, which the content stream needs,
    while the collator masks them. Special tokens see no chosen token, while the collator allows it,
    so that later layers could leak tokens through them. The order covers the whole row, while
    XLNet's memory requires an order within each half.
    """
    num_rows, width = rows.tokens.shape
    factor = settings.context_factor
    num_spans = -(-width // factor)
    length = rng.integers(1, settings.max_span_length, (num_rows, num_spans), endpoint=True)
    context = length * factor
    begin = np.cumsum(context, axis=1) - context
    begin += rng.integers(0, context - length, endpoint=True)
    chosen = rows.maskable & covered(begin, begin + length, width)
    place = rng.permuted(np.tile(np.arange(width), (num_rows, 1)), axis=1)
    order = np.where(chosen, place, -1)
    return TransformResult(rows.tokens, rows.lengths, chosen, aligned=True, order=order)


def context_window(
    settings: ContextWindow, rows: Rows, rng: np.random.Generator, vocabulary: Vocabulary
) -> TransformResult:
    """The unchanged rows [B, T] with a window for each token of the text, uniform over 1 to `size`
    (Mikolov et al. 2013a, section 3.2)."""
    drawn = rng.integers(1, settings.size, rows.tokens.shape, endpoint=True)
    return TransformResult(
        rows.tokens,
        rows.lengths,
        np.zeros_like(rows.maskable),
        aligned=True,
        window=np.where(rows.maskable, drawn, 0),
    )
