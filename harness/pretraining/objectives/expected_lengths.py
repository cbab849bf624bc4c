"""What an objective makes of a sequence, in expectation: tokens read, told and predicted.

A row is [CLS] text [SEP]: n tokens with the mode token of a mixture, if any, not counted. Words are
taken to be whole tokens, and text to have no separators inside.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

from harness.models.flops import Lengths
from harness.pretraining.objectives.objective import AnyObjective, Mixture, Objective
from harness.pretraining.objectives.transforms import (
    Denoising,
    PermutationOrder,
    Prefix,
    SpanCorruption,
    TokenMasking,
)

SPECIALS = 2
"""First and last token of a row, which no transform touches."""


def expected_lengths(objective: Objective, num_tokens: int, *, mode_token: bool = False) -> Lengths:
    """Lengths of a row of `num_tokens`, special ones included, under an objective.

    Args:
        mode_token: whether one token more stands before the text.
    """
    if objective.output.kind in ("dropped_spans", "whole_text"):
        return _to_text(objective, num_tokens, mode_token)
    length = num_tokens + mode_token
    return Lengths(source=length, predicted=_in_place(objective, length, num_tokens - SPECIALS))


def expected_parts(
    objective: AnyObjective, num_tokens: int
) -> tuple[tuple[float, Objective, Lengths], ...]:
    """(share of the updates, objective, its lengths) of each component, in rows of `num_tokens`,
    of which a mode token takes one in all components if any has one."""
    modes: tuple[str | None, ...] = (None,)
    if isinstance(objective, Mixture):
        modes = tuple(part.mode_token for part in objective.mixture)
    length = num_tokens - any(modes)
    return tuple(
        (share, single, expected_lengths(single, length, mode_token=mode is not None))
        for (share, single), mode in zip(objective.components, modes, strict=True)
    )


def _in_place(objective: Objective, length: int, text: int) -> float:
    """Predictions in a row of `length`, of which `text` tokens may be hidden."""
    if objective.representation == "cbow":
        return text
    if isinstance(objective.transform, PermutationOrder):
        return text / objective.transform.context_factor
    if objective.output.kind == "next_token":
        return (length - 1) * (2 if objective.representation == "bilm" else 1)
    return hidden_tokens(objective.transform, length, text)


def hidden_tokens(transform: Any, length: int, text: int) -> float:
    """Tokens that masking hides; whole words and n-grams may hide fewer, where they do not fit."""
    if transform.kind == "span_masking":
        return math.ceil(transform.mask_rate * text - 1e-9)
    budget = max(1, round(transform.mask_rate * length))
    if isinstance(transform, TokenMasking) and transform.with_replacement:
        return text * (1 - (1 - 1 / text) ** budget)  # distinct positions
    return min(text, budget)


def _to_text(objective: Objective, num_tokens: int, mode_token: bool) -> Lengths:
    text = num_tokens - SPECIALS
    transform = objective.transform
    expect = _TEXTS.get(transform.kind)
    source, dropped = expect(transform, text) if expect else (text, 0)
    told = dropped if objective.output.kind == "dropped_spans" else text
    target = told + 1  # the end token
    return Lengths(source + SPECIALS + mode_token, target, target)


def _span_corruption(transform: SpanCorruption, text: int) -> tuple[float, float]:
    """(source, dropped): of T5's `random_spans_noise_mask` exactly, of its `iid_noise_mask` in mean
    (t5/data/preprocessors.py). A sentinel stands for each span, and one ends the dropped text."""
    rate = transform.mask_rate
    noise, spans = text * rate, rate + (text - 1) * rate * (1 - rate)
    if transform.noise == "random_spans":
        noise = min(max(1, round(noise)), max(text - 1, 1))
        spans = min(max(1, round(noise / transform.mean_span_length)), noise, text - noise)
    if transform.replacement == "sentinel":
        return text - noise + spans, noise + spans + 1
    return (text - noise if transform.replacement == "drop" else text), noise


def _prefix(transform: Prefix, text: int) -> tuple[float, float]:
    """The tokens told are uniform between two whole numbers, at least 1 on either side."""
    least = min(max(1, math.ceil(transform.min_target_fraction * text - 1e-9)), text - 1)
    most = min(max(least, math.floor(transform.max_target_fraction * text + 1e-9)), text - 1)
    told = (least + most) / 2
    return text - told, told


def _denoising(transform: Denoising, text: int) -> tuple[float, float]:
    """Only deletion and infilling change the length of the source.

    Infilling draws N spans of X ~ Poisson(m) tokens until they sum to the budget b: N = b / m + 1/2
    in mean, as sums of Poisson numbers go m / 2 beyond what they first reach. A span of 0 inserts a
    mask. A token is gone if a span began d >= 1 tokens before it with X > d; the starts are nearly
    uniform, N P(X > d) / n at each distance, so that spans may overlap. Of 512 tokens at rate 0.3
    and m = 3 this leaves 416; fairseq's code leaves 418.2.
    """
    length = text - math.ceil(transform.delete_rate * text - 1e-9)
    if not transform.infill_rate:
        return length, 0
    mean = transform.poisson_lambda
    spans = math.ceil(transform.infill_rate * text - 1e-9) / mean + 0.5
    longer = cumulative = math.exp(-mean)
    inserted, kept = spans * longer, 1.0
    for distance in range(1, text):
        longer *= mean / distance  # P(X = distance)
        cumulative += longer
        kept *= 1 - min(1.0, spans / text * (1 - cumulative))
    return length - text * (1 - kept) + inserted, 0


_TEXTS: Mapping[str, Callable[[Any, int], tuple[float, float]]] = {
    "span_corruption": _span_corruption,
    "prefix": _prefix,
    "denoising": _denoising,
}
"""Transforms that change the length: (source, dropped text), without special tokens."""
