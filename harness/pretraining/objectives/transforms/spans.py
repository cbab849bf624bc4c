"""Span corruption: noise is removed from the text and replaced by sentinels, masks or nothing.

Shapes: B rows, T positions, S of the source, U of the dropped text, L tokens of a text (special
tokens not counted). With sentinels x, y, z in the order of use, and tokens 8 and 10, 11 as noise:

    tokens    [CLS] 7 8 9 10 11 12 [SEP]
    source    [CLS] 7 x 9 y 12 [SEP]
    dropped   x 8 y 10 11 z
"""

import math
from typing import Literal

import numpy as np
from pydantic import Field

from harness.pretraining.objectives.layout import Rows
from harness.pretraining.objectives.transforms.array_ops import covered, filled, packed, runs
from harness.pretraining.objectives.transforms.transform import Transform, TransformResult
from harness.pretraining.objectives.vocabulary import Vocabulary

PLACE_BITS = 20
"""Low bits of a 64-bit key that hold an index; a text has fewer than 2^20 tokens."""


class SpanCorruption(Transform):
    """Noise and its replacement: the denoising family of T5 (Raffel et al. 2020, 3.3)."""

    kind: Literal["span_corruption"] = "span_corruption"
    mask_rate: float = Field(default=0.15, gt=0, lt=1)
    """Share of the tokens that are noise (T5: noise_density)."""
    noise: Literal["random_spans", "iid"] = "random_spans"
    """`random_spans`: an exact number of spans of a mean length; `iid`: each token by itself."""
    mean_span_length: float = Field(default=3.0, ge=1)
    """Mean tokens of a random span."""
    replacement: Literal["sentinel", "mask_token", "drop"] = "sentinel"
    """`sentinel`: one numbered sentinel per span; `mask_token`: a mask per token (MASS, and
    BERT-style with random tokens); `drop`: nothing."""
    random_token_rate: float = Field(default=0.0, ge=0, le=1)
    """Under `mask_token`, the share of the noise that becomes a random token (BERT-style: 0.1)."""

    @property
    def gap_filler(self) -> str:
        """The replacement of noise."""
        return {"mask_token": "mask_per_token", "drop": "nothing"}.get(
            self.replacement, self.replacement
        )


def span_corruption(
    settings: SpanCorruption, rows: Rows, rng: np.random.Generator, vocabulary: Vocabulary
) -> TransformResult:
    """Rows [B, T] under T5's denoising family (Raffel et al. 2020, sections 3.1.4 and 3.3).

    The text of a row is one sequence of L tokens. Separators inside it remain in the source and
    split spans.

    Raises:
        ValueError: the replacement is `sentinel`, but the vocabulary has none.
    """
    lengths = rows.maskable.sum(1)
    mask = noise_mask(settings, lengths, rng)
    noise = np.zeros_like(rows.maskable)
    noise[rows.maskable] = mask[filled(lengths, mask.shape[1])]
    return replace_noise(settings, rows, noise, rng, vocabulary)


def replace_noise(
    settings: SpanCorruption,
    rows: Rows,
    noise: np.ndarray,
    rng: np.random.Generator,
    vocabulary: Vocabulary,
) -> TransformResult:
    """Source and dropped text for a given noise [B, T] bool, which is True only at text."""
    begins, spans = runs(noise)
    real = filled(rows.lengths, noise.shape[1])
    if settings.replacement == "sentinel":
        return _with_sentinels(rows, real, noise, begins, spans, vocabulary)
    dropped = packed(rows.tokens, noise, vocabulary.pad)
    if settings.replacement == "drop":
        source, lengths = packed(rows.tokens, real & ~noise, vocabulary.pad)
        return TransformResult(source, lengths, noise, aligned=False, dropped=dropped, spans=spans)
    source = np.where(noise, vocabulary.mask, rows.tokens)
    if settings.random_token_rate:
        random = noise & (rng.random(noise.shape) < settings.random_token_rate)
        source[random] = rng.choice(vocabulary.ordinary, size=int(random.sum()))
    return TransformResult(source, rows.lengths, noise, aligned=True, dropped=dropped, spans=spans)


def _with_sentinels(
    rows: Rows,
    real: np.ndarray,
    noise: np.ndarray,
    begins: np.ndarray,
    spans: np.ndarray,
    vocabulary: Vocabulary,
) -> TransformResult:
    """A sentinel for each span, and one after the last span (Raffel et al. 2020, section 3.1.4).

    Spans beyond the available sentinels are kept in the text; T5's ids would continue into its word
    pieces. Where text ends with noise, T5's code omits the last sentinel, so that its target is one
    token shorter than here and in the paper.
    """
    sentinels = vocabulary.sentinels
    if not len(sentinels):
        raise ValueError("span_corruption by sentinels needs tokenizer.sentinels, but there are 0")
    if spans.max(initial=-1) >= len(sentinels) - 1:
        noise = noise & (spans < len(sentinels) - 1)
        begins, spans = begins & noise, np.where(noise, spans, -1)
    # Search the mask once, as this is slow; work with flat indices afterwards.
    at = np.flatnonzero(noise)
    first = begins.ravel()[at]
    marks = sentinels[spans.ravel()[at[first]]]
    marked = rows.tokens.copy()
    marked.ravel()[at[first]] = marks
    source, lengths = packed(marked, real & (~noise | begins), vocabulary.pad)
    # The dropped texts of all rows in one array: a token is shifted by the sentinels up to that
    # of its span, and by the final sentinels of the rows before.
    num_noise, num_spans = noise.sum(1), begins.sum(1)
    sizes = num_noise + num_spans + 1
    index = np.arange(len(at)) + np.cumsum(first) + np.repeat(np.arange(len(sizes)), num_noise)
    flat = np.empty(int(sizes.sum()), dtype=rows.tokens.dtype)
    flat[index] = rows.tokens.ravel()[at]
    flat[index[first] - 1] = marks
    flat[np.cumsum(sizes) - 1] = sentinels[num_spans]
    dropped = np.full((len(sizes), int(sizes.max(initial=0))), vocabulary.pad)
    dropped[filled(sizes, dropped.shape[1])] = flat
    return TransformResult(
        source, lengths, noise, aligned=False, dropped=(dropped, sizes), spans=spans
    )


def noise_mask(
    settings: SpanCorruption, lengths: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """[B, longest] bool: the noise of texts of `lengths` [B] tokens.

    As T5's `iid_noise_mask` and `random_spans_noise_mask` (t5/data/preprocessors.py). The latter
    starts with kept text and ends with noise: the first token is never noise and the last always,
    except in a text of one token. There are at most as many spans as tokens of either kind.
    """
    width = int(lengths.max(initial=0))
    if settings.noise == "iid":
        drawn: np.ndarray = rng.random((len(lengths), width)) < settings.mask_rate
        return drawn & filled(lengths, width)
    num_noise, num_spans = _counts(settings, lengths)
    noise_end = random_ends(num_noise, num_spans, rng)
    kept_end = random_ends(lengths - num_noise, num_spans, rng)
    noise_begin = np.zeros_like(noise_end)
    noise_begin[:, 1:] = noise_end[:, :-1]
    mask = covered(kept_end + noise_begin, kept_end + noise_end, width)
    return mask & (lengths > 1)[:, None]


def _counts(settings: SpanCorruption, lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """[B] tokens of noise, and [B] spans of it, in texts of `lengths` [B] tokens."""
    most = np.maximum(lengths - 1, 1)
    noise = np.clip(np.rint(lengths * settings.mask_rate).astype(np.int64), 1, most)
    spans = np.rint(noise / settings.mean_span_length).astype(np.int64)
    return noise, np.clip(spans, 1, np.maximum(np.minimum(noise, lengths - noise), 1))


def random_ends(total: np.ndarray, parts: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """[B, most parts] ends of the segments that `total` [B] items are cut into, ascending.

    All ways to cut into `parts` [B] segments of at least one item are equally likely. Columns
    beyond a row's parts repeat its total.
    """
    most = int(parts.max(initial=1))
    if most == 1:
        return total[:, None].copy()
    num_cuts = np.maximum(total - 1, 0)
    # The indices of the smallest random keys, which are distinct as their low bits hold the index:
    # faster than an argsort, which would dominate the time of span corruption.
    place = np.arange(int(num_cuts.max()), dtype=np.uint64)
    key = rng.integers(0, 1 << 64, (len(total), len(place)), dtype=np.uint64)
    key >>= PLACE_BITS
    key <<= PLACE_BITS
    key |= place
    key[~filled(num_cuts, len(place))] = np.iinfo(np.uint64).max
    smallest = np.sort(np.partition(key, most - 2, axis=1)[:, : most - 1], axis=1)
    cut = (smallest & ((1 << PLACE_BITS) - 1)).astype(np.int64) + 1
    ends = np.repeat(total[:, None], most, axis=1)
    ends[:, :-1] = np.where(filled(parts - 1, most - 1), cut, ends[:, :-1])
    return np.sort(ends, axis=1)


def spans_needed(settings: SpanCorruption, length: int) -> int:
    """Expected spans of noise in a text of `length` tokens; one more sentinel ends the target.

    Exact for random spans in a text without separators. For noise token by token it is the mean,
    L p (1 - p) rounded up: half of the texts have more.
    """
    if settings.noise == "iid":
        return math.ceil(length * settings.mask_rate * (1 - settings.mask_rate))
    return int(_counts(settings, np.array([length]))[1][0])
