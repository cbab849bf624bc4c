"""What holds for every transform on any rows."""

from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.pretraining.objectives.transforms import TRANSFORMS, apply_transform
from harness.pretraining.objectives.transforms.denoising import Denoising
from harness.pretraining.objectives.transforms.identifiers import MaskedIdentifiers
from harness.pretraining.objectives.transforms.masking import (
    NgramMasking,
    SpanMasking,
    TokenMasking,
)
from harness.pretraining.objectives.transforms.order import (
    ContextWindow,
    Deshuffling,
    Identity,
    PermutationOrder,
    Prefix,
)
from harness.pretraining.objectives.transforms.spans import SpanCorruption
from harness.pretraining.objectives.transforms.transform import TransformResult
from tests.pretraining.objectives.transforms.texts import (
    CLS,
    MASK,
    MODE,
    SEP,
    SPECIAL,
    VOCABULARY,
    make_rows,
    real,
    text_of,
)

SETTINGS: tuple[Any, ...] = (
    Identity(),
    TokenMasking(),
    TokenMasking(mask_rate=0.5, mask_token_rate=0, random_token_rate=1),
    TokenMasking(whole_word=True),
    TokenMasking(with_replacement=True),
    NgramMasking(mask_rate=0.3),
    NgramMasking(max_ngram=2, shares=(0.5, 0.5), unit="token"),
    SpanMasking(mask_rate=0.4),
    SpanCorruption(),
    SpanCorruption(mask_rate=0.6, mean_span_length=1),
    SpanCorruption(noise="iid", mask_rate=0.4),
    SpanCorruption(replacement="drop"),
    SpanCorruption(noise="iid", replacement="mask_token", random_token_rate=0.5),
    MaskedIdentifiers(),
    Prefix(),
    Prefix(min_target_fraction=0.25, max_target_fraction=0.25),
    Deshuffling(),
    Denoising(),
    Denoising(mask_rate=0.3),
    Denoising(delete_rate=0.3),
    Denoising(infill_rate=0.3),
    Denoising(infill_rate=0.5, poisson_lambda=0.5),
    Denoising(permute_sentences=1),
    Denoising(rotate_rate=1),
    Denoising(
        mask_rate=0.2, delete_rate=0.2, infill_rate=0.2, permute_sentences=0.5, rotate_rate=0.5
    ),
    PermutationOrder(),
    ContextWindow(),
)
FIXED = (
    Identity(),
    Denoising(),
    MaskedIdentifiers(),
    Prefix(min_target_fraction=0.25, max_target_fraction=0.25),
)
"""Deterministic transforms."""
any_transform = st.sampled_from(SETTINGS)
any_lengths = st.lists(
    st.lists(st.integers(1, 30), max_size=2) | st.just([1]) | st.just([2]), min_size=1, max_size=5
)
any_seed = st.integers(0, 1000)


def same(one: TransformResult, other: TransformResult) -> bool:
    return repr(plain(one)) == repr(plain(other))


def plain(result: TransformResult) -> list[Any]:
    """All that a result holds, as lists."""
    values = [getattr(result, part.name) for part in fields(TransformResult)]
    values += result.dropped or ()
    return [v.tolist() if isinstance(v, np.ndarray) else v for v in values if type(v) is not tuple]


def test_every_transform_is_tested() -> None:
    assert {type(transform) for transform in SETTINGS} == set(TRANSFORMS)


@given(any_transform, any_lengths, any_seed, st.booleans())
def test_shapes_and_special_tokens(
    transform: Any, lengths: list[list[int]], seed: int, mode: bool
) -> None:
    rows = make_rows(lengths, seed, mode)
    before = rows.tokens.copy()
    result = apply_transform(transform, rows, np.random.default_rng(seed), VOCABULARY)
    assert np.array_equal(rows.tokens, before), "a pure function"
    assert result.inputs.dtype == rows.tokens.dtype and result.chosen.shape == rows.tokens.shape
    assert not (result.chosen & ~rows.maskable).any(), "special tokens and padding are never chosen"
    if result.aligned:
        assert np.array_equal(result.lengths, rows.lengths)
        assert np.array_equal(result.inputs[~result.chosen], rows.tokens[~result.chosen])
    assert result.inputs.shape[1] >= result.lengths.max()
    for row in range(len(lengths)):
        source = real(result.inputs, result.lengths, row)
        assert source[0] == CLS and source[-1] == SEP
        assert not mode or source[1] == MODE
        inside = np.array(source[1 + mode : -1])
        known = (inside >= SPECIAL) & (inside < MODE) | np.isin(inside, [MASK, SEP])
        assert (known | np.isin(inside, VOCABULARY.sentinels)).all()
    if result.spans is not None:
        assert np.array_equal(result.spans >= 0, result.chosen)
    if result.order is not None:
        assert np.array_equal(result.order >= 0, result.chosen)
    if result.window is not None:
        assert np.array_equal(result.window > 0, rows.maskable)


@given(any_transform, any_lengths, any_seed)
def test_the_seed_alone_decides(transform: Any, lengths: list[list[int]], seed: int) -> None:
    rows = make_rows(lengths, seed)
    one, again = (
        apply_transform(transform, rows, np.random.default_rng(seed), VOCABULARY) for _ in "ab"
    )
    assert same(one, again)


@pytest.mark.parametrize("transform", SETTINGS, ids=repr)
def test_another_seed_gives_another_result(transform: Any) -> None:
    rows = make_rows([[60, 40]] * 8)
    one, other = (
        apply_transform(transform, rows, np.random.default_rng(s), VOCABULARY) for s in (0, 1)
    )
    assert same(one, other) == (transform in FIXED)


@pytest.mark.parametrize("transform", SETTINGS, ids=repr)
def test_rows_differ_from_one_another(transform: Any) -> None:
    """Equal rows of a batch have different noise."""
    one = make_rows([[90]])
    rows = type(one)(*(repeated(getattr(one, f.name), 20) for f in fields(one)))
    inputs = apply_transform(transform, rows, np.random.default_rng(0), VOCABULARY)
    drawn = [array for array in (inputs.order, inputs.window) if array is not None]
    noise = drawn[0] if drawn else inputs.inputs
    distinct = len(np.unique(noise, axis=0))
    assert distinct == 1 if transform in FIXED else distinct > 15


def repeated(array: np.ndarray | None, times: int) -> Any:
    return None if array is None else np.repeat(array, times, axis=0)


@given(any_transform, any_lengths, any_seed)
def test_source_and_dropped_text_give_the_text_back(
    transform: Any, lengths: list[list[int]], seed: int
) -> None:
    """Source and dropped text contain each token of the text once."""
    rows = make_rows(lengths, seed)
    result = apply_transform(transform, rows, np.random.default_rng(seed), VOCABULARY)
    for row in range(len(lengths)):
        text, source = text_of(rows, row), real(result.inputs, result.lengths, row)[1:-1]
        if transform.kind == "prefix":
            assert result.dropped is not None
            assert source + real(*result.dropped, row) == text
        elif transform.kind == "deshuffling":
            assert sorted(source) == sorted(text)
        elif transform.kind == "span_corruption":
            assert result.dropped is not None
            dropped = real(*result.dropped, row)
            assert restored(transform, source, dropped, result.chosen[row], text) == text
        elif transform.kind == "masked_identifiers":
            assert result.dropped is not None
            assert with_spans(source, real(*result.dropped, row)) == text
        elif transform.kind == "denoising":
            hidden = transform.mask_rate + transform.infill_rate + transform.delete_rate
            plain = sorted(token for token in text if token != SEP)
            left = sorted(token for token in source if token != MASK)
            assert set(left) <= set(plain) if hidden else left == plain


def restored(
    transform: SpanCorruption, source: list[int], dropped: list[int], chosen: np.ndarray, text: Any
) -> list[int]:
    if transform.replacement == "sentinel":
        return with_spans(source, dropped)
    left, lost = iter(source), iter(dropped)
    merged = []
    for is_noise in chosen[1 : len(text) + 1]:
        if not is_noise or transform.replacement == "mask_token":
            kept = next(left)
        merged.append(next(lost) if is_noise else kept)
    assert next(lost, None) is None and next(left, None) is None
    return merged


def with_spans(source: list[int], dropped: list[int]) -> list[int]:
    """The source with the span of each sentinel in its place."""
    spans: dict[int, list[int]] = {}
    for token in dropped:
        if token in VOCABULARY.sentinels:
            spans[token] = []
        else:
            spans[list(spans)[-1]].append(token)
    assert list(spans) == VOCABULARY.sentinels[: len(spans)].tolist()
    assert spans[list(spans)[-1]] == [], "the last sentinel ends the target"
    return [t for token in source for t in spans.get(token, [token])]


def test_no_text_at_all_survives_every_transform() -> None:
    rows = make_rows([[], []])
    for transform in SETTINGS:
        result = apply_transform(transform, rows, np.random.default_rng(0), VOCABULARY)
        assert not result.chosen.any()
        assert result.inputs[:, :2].tolist() == [[CLS, SEP]] * 2
