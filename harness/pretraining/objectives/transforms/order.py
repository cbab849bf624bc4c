"""Transforms that hide nothing: the text as it is, cut in two, shuffled, or in another order."""

from typing import Literal, Self

import numpy as np
from pydantic import Field, model_validator

from harness.pretraining.objectives.layout import Rows
from harness.pretraining.objectives.transforms.array_ops import covered, filled, packed, shuffled
from harness.pretraining.objectives.transforms.transform import Transform, TransformResult
from harness.pretraining.objectives.vocabulary import Vocabulary


class Identity(Transform):
    """The text as it is."""

    kind: Literal["none"] = "none"


class Prefix(Transform):
    """A random cut: what stands before it is given, the rest is to be told (T5, section 3.2.3)."""

    kind: Literal["prefix"] = "prefix"
    min_target_fraction: float = Field(default=0.0, ge=0, lt=1)
    """Smallest share of the text that is to be told."""
    max_target_fraction: float = Field(default=1.0, gt=0, le=1)
    """Largest share of the text that is to be told."""

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
    """Spans to predict are of 1 to this many tokens, uniformly."""
    context_factor: int = Field(default=6, ge=2)
    """A span of L tokens is drawn from K x L tokens, so that 1/K of the text is predicted."""


def identity(
    settings: Identity, rows: Rows, rng: np.random.Generator, vocabulary: Vocabulary
) -> TransformResult:
    """The rows as they are."""
    return TransformResult(rows.tokens, rows.lengths, np.zeros_like(rows.maskable), aligned=True)


def prefix(
    settings: Prefix, rows: Rows, rng: np.random.Generator, vocabulary: Vocabulary
) -> TransformResult:
    """A uniform cut, before which the text is given (Raffel et al. 2020, section 3.2.3).

    The tokens to be told are from min_target_fraction to max_target_fraction of the text, the next
    larger number where no whole one lies between, and at least 1 on either side; a text of one
    token is only given. Separators inside the text stand on the side of the token before them. By
    default the length given is uniform from 1 to n - 1, as in T5's `random_prefix_noise_mask`.
    """
    count = rows.maskable.sum(1)
    most = np.maximum(count - 1, 0)
    least_told = np.clip(
        np.ceil(settings.min_target_fraction * count - 1e-9), np.minimum(1, most), most
    )
    most_told = np.clip(np.floor(settings.max_target_fraction * count + 1e-9), least_told, most)
    told = rng.integers(least_told.astype(np.int64), most_told.astype(np.int64), endpoint=True)
    chosen = rows.maskable & (rows.maskable.cumsum(1) > (count - told)[:, None])
    after = chosen.cumsum(1) > 0
    given = filled(rows.lengths - 1, rows.tokens.shape[1])
    end = rows.lengths - 1 == np.arange(rows.tokens.shape[1])[:, None]
    source, lengths = packed(rows.tokens, (given & ~after) | end.T, vocabulary.pad)
    dropped = packed(rows.tokens, given & after, vocabulary.pad)
    return TransformResult(source, lengths, chosen, aligned=False, dropped=dropped)


def deshuffling(
    settings: Deshuffling, rows: Rows, rng: np.random.Generator, vocabulary: Vocabulary
) -> TransformResult:
    """All tokens of the text in a random order at the places of text (Raffel et al. 2020, 3.3.1).

    Special tokens, separators inside the text too, stay where they are.
    """
    inputs = shuffled(rows.tokens, rows.maskable, rng)
    return TransformResult(inputs, rows.lengths, rows.maskable, aligned=False)


def permutation_order(
    settings: PermutationOrder, rows: Rows, rng: np.random.Generator, vocabulary: Vocabulary
) -> TransformResult:
    """A random factorisation order of the tokens to predict (Yang et al. 2019, sections 2.2-2.3).

    The tokens to predict are chosen as in transformers'
    `DataCollatorForPermutationLanguageModeling`: from the row's beginning, stretches of L x
    `context_factor` positions with L uniform over 1 to `max_span_length`, each with a span of L at
    a uniform place, of which special tokens are left out. `order` is -1 at all other positions.
    Position i may not see position j in the query stream where

        chosen[j] & (order[i] <= order[j])

    which is that collator's perm_mask: what is not chosen is seen from everywhere and sees nothing
    chosen; a chosen token sees those before it in the order, never itself. In the content stream it
    sees itself, too (order[i] < order[j]).

    Three differences. The inputs keep the chosen tokens, which the content stream needs, where the
    collator puts masks. Special tokens see no chosen one, where the collator lets them, so that a
    later layer could tell a token through them. The order runs over the whole row, where XLNet's
    memory of the half before needs each half to be ordered by itself.
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
