"""Expected tokens that an objective reads and predicts per sequence, for budgets in FLOPs.

A row is [CLS] text [SEP], with the mode token of a mixture after [CLS] if there is one. Words are
assumed to be single tokens, and the text to contain no separators.
"""

import math
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from harness.models.flops import Lengths
from harness.pretraining.objectives.objective import AnyObjective, Objective, parts_of
from harness.pretraining.objectives.sample_rows import SENTENCE, SPECIALS, sample_rows
from harness.pretraining.objectives.transforms import apply_transform
from harness.pretraining.objectives.transforms.denoising import Denoising
from harness.pretraining.objectives.transforms.identifiers import MaskedIdentifiers
from harness.pretraining.objectives.transforms.masking import (
    Masking,
    NgramMasking,
    SpanMasking,
    TokenMasking,
)
from harness.pretraining.objectives.transforms.order import (
    ContextWindow,
    PermutationOrder,
    Prefix,
)
from harness.pretraining.objectives.transforms.spans import SpanCorruption
from harness.pretraining.objectives.transforms.transform import Transform


class Expectation(NamedTuple):
    """Mean tokens per row after a transform, special tokens of the row not counted."""

    source: float
    """Text that is left."""
    chosen: float
    """Tokens chosen for prediction in place."""
    dropped: float = 0.0
    """Target text of the output `dropped_spans`."""


def expected_lengths(objective: Objective, num_tokens: int, *, mode_token: bool = False) -> Lengths:
    """Expected lengths of one row under an objective.

    Args:
        num_tokens: tokens of the row, special tokens included, without the mode token.
        mode_token: whether a mode token precedes the text.
    """
    text, length = num_tokens - SPECIALS, num_tokens + mode_token
    closed_form = CLOSED_FORMS.get(type(objective.transform), measure)
    expected = closed_form(objective.transform, text, length)
    source = expected.source + SPECIALS + mode_token
    if objective.predicts_text:
        target = expected.dropped if objective.output.kind == "dropped_spans" else text
        return Lengths(source, target + 1, target + 1)  # with the end token
    if objective.output.kind == "neighbour_sentences":
        return neighbour_lengths(text)
    if isinstance(objective.transform, ContextWindow):
        return Lengths(source, predicted=context_pairs(objective.transform.size, text))
    if objective.output.kind == "cooccurrence":  # a row of counts in place of text
        return Lengths(num_tokens, predicted=num_tokens)
    if objective.representation == "cbow":
        return Lengths(source, predicted=text)
    if objective.output.kind == "next_token" and objective.representation != "permuted":
        directions = 2 if objective.representation == "bilm" else 1
        return Lengths(source, predicted=directions * (length - 1))
    return Lengths(source, predicted=expected.chosen)


def neighbour_lengths(text: int) -> Lengths:
    """Lengths of a row of `text` tokens cut into sentences of SENTENCE tokens, the last with what
    is left. Each has a first and a last token; one decoder predicts all but the first sentence,
    the other all but the last, each with an end token."""
    number = math.ceil(text / SENTENCE)
    last = text - (number - 1) * SENTENCE
    predicted = 2 * (text + number - 1) - min(text, SENTENCE) - last
    return Lengths(text + number * SPECIALS, predicted, predicted)


def context_pairs(size: int, text: int) -> float:
    """Expected tokens that `text` tokens predict, each within a window uniform over 1 to `size`.

    Of n tokens, n - d have a neighbour at distance d on one side, and windows reach it with
    probability (size - d + 1) / size.
    """
    near = range(1, min(size, text - 1) + 1)
    return sum(2 * (text - distance) * (size - distance + 1) / size for distance in near)


def expected_parts(
    objective: AnyObjective, num_tokens: int
) -> tuple[tuple[float, Objective, Lengths], ...]:
    """(share of the updates, objective, expected lengths) of each component.

    Args:
        num_tokens: tokens of a row, of which a mode token takes one in every component if any
            component has one.
    """
    parts = parts_of(objective)
    length = num_tokens - any(part.mode_token for part in parts)
    return tuple(
        (share, single, expected_lengths(single, length, mode_token=part.mode_token is not None))
        for (share, single), part in zip(objective.components, parts, strict=True)
    )


@lru_cache
def measure(transform: Transform, text: int, length: int) -> Expectation:
    """Means over synthetic rows that the transform is applied to, from a fixed seed.

    Args:
        text: tokens of the text of a row.
        length: tokens of the row; those beyond text, [CLS] and [SEP] are mode tokens.
    """
    rng = np.random.default_rng(0)
    rows, vocabulary = sample_rows(text, length, rng)
    result = apply_transform(transform, rows, rng, vocabulary)
    dropped = 0.0 if result.dropped is None else float(result.dropped[1].mean())
    source = float(result.lengths.mean()) - (length - text)
    return Expectation(source, float(result.chosen.sum(1).mean()), dropped)


def _token_masking(transform: TokenMasking, text: int, length: int) -> Expectation:
    if not transform.with_replacement:
        return _masking(transform, text, length)
    distinct = text * (1 - (1 - 1 / text) ** _budget(transform, length))
    return Expectation(text, distinct)


def _masking(transform: Masking, text: int, length: int) -> Expectation:
    """Whole words and n-grams may mask fewer tokens, where they do not fit the budget."""
    return Expectation(text, min(text, _budget(transform, length)))


def _budget(transform: Masking, length: int) -> int:
    return max(1, round(transform.mask_rate * length))


def _span_masking(transform: SpanMasking, text: int, length: int) -> Expectation:
    return Expectation(text, math.ceil(transform.mask_rate * text - 1e-9))


def _permutation_order(transform: PermutationOrder, text: int, length: int) -> Expectation:
    return Expectation(text, text / transform.context_factor)


def _span_corruption(transform: SpanCorruption, text: int, length: int) -> Expectation:
    """Exact for T5's `random_spans_noise_mask`, a mean for its `iid_noise_mask`
    (t5/data/preprocessors.py). One sentinel replaces each span, and one ends the dropped text."""
    rate = transform.mask_rate
    noise, spans = text * rate, rate + (text - 1) * rate * (1 - rate)
    if transform.noise == "random_spans":
        noise = min(max(1, round(noise)), max(text - 1, 1))
        spans = min(max(1, round(noise / transform.mean_span_length)), noise, text - noise)
    if transform.replacement == "sentinel":
        return Expectation(text - noise + spans, noise, noise + spans + 1)
    return Expectation(text - noise if transform.replacement == "drop" else text, noise, noise)


def _masked_identifiers(transform: MaskedIdentifiers, text: int, length: int) -> Expectation:
    """Of Python files, whose names repeat the more often the longer a row is: fitted by hand to
    rows of 64 to 1,024 tokens of Python 3.11's standard library, with 2,000 and 32,000 entries of
    byte-level BPE, which differ by up to 7 % from it on either side."""
    return Expectation(0.875 * text, 0.29 * text, 1 + 0.87 * text**0.77)


def _prefix(transform: Prefix, text: int, length: int) -> Expectation:
    """The target length is uniform between two whole numbers, with at least 1 token per side."""
    least = min(max(1, math.ceil(transform.min_target_fraction * text - 1e-9)), text - 1)
    most = min(max(least, math.floor(transform.max_target_fraction * text + 1e-9)), text - 1)
    target = (least + most) / 2
    return Expectation(text - target, target, target)


def _denoising(transform: Denoising, text: int, length: int) -> Expectation:
    """Source length alone (no output predicts the chosen tokens): deletion and infilling change it.

    Infilling draws N spans of X ~ Poisson(m) tokens until they sum to the budget b: N = b / m + 1/2
    in the mean, as sums of Poisson numbers exceed b by m / 2. A span of 0 inserts a mask. A token
    is removed if a span began d >= 1 tokens before it with X > d; the starts are nearly uniform,
    N P(X > d) / n at each distance, so that spans may overlap. Of 512 tokens at rate 0.3 and m = 3
    this leaves 416; fairseq's code leaves 418.2.
    """
    source = text - math.ceil(transform.delete_rate * text - 1e-9)
    if not transform.infill_rate:
        return Expectation(source, math.nan)
    mean = transform.poisson_lambda
    spans = math.ceil(transform.infill_rate * text - 1e-9) / mean + 0.5
    longer = cumulative = math.exp(-mean)
    inserted, kept = spans * longer, 1.0
    for distance in range(1, text):
        longer *= mean / distance  # P(X = distance)
        cumulative += longer
        kept *= 1 - min(1.0, spans / text * (1 - cumulative))
    return Expectation(source - text * (1 - kept) + inserted, math.nan)


CLOSED_FORMS: Mapping[type[Transform], Callable[[Any, int, int], Expectation]] = {
    TokenMasking: _token_masking,
    NgramMasking: _masking,
    SpanMasking: _span_masking,
    SpanCorruption: _span_corruption,
    MaskedIdentifiers: _masked_identifiers,
    Prefix: _prefix,
    Denoising: _denoising,
    PermutationOrder: _permutation_order,
}
"""Functions of (transform, tokens of the text, tokens of the row); other transforms are measured,
which is exact for those that keep every length, such as `none` and `deshuffling`."""
