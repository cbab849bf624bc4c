"""Span corruption: T5's fixtures, its helper's lengths, and the statistics of its noise."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.pretraining.objectives.layout import Rows
from harness.pretraining.objectives.transforms.spans import (
    SpanCorruption,
    noise_mask,
    random_ends,
    replace_noise,
    span_corruption,
    spans_needed,
)
from tests.pretraining.objectives.transforms.texts import (
    MASK,
    MODE,
    SEP,
    SPECIAL,
    VOCABULARY,
    close,
    equal_rows,
    make_rows,
    make_vocabulary,
    real,
)

S0, S1, S2 = VOCABULARY.sentinels[:3].tolist()
NOISE = [True, True, False, False, True, False]


def generator(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def fixture() -> tuple[Rows, np.ndarray]:
    """Tokens 10 to 15 and the mask of google-research/text-to-text-transfer-transformer,
    t5/data/preprocessors_test.py."""
    rows = equal_rows(1, 6)
    rows.tokens[0, 1:7] = np.arange(10, 16)
    noise = np.zeros_like(rows.maskable)
    noise[0, 1:7] = NOISE
    return rows, noise


@pytest.mark.parametrize(
    ("replacement", "source", "dropped"),
    [
        # noise_span_to_unique_sentinel: 999 12 13 998 15
        ("sentinel", [S0, 12, 13, S1, 15], [S0, 10, 11, S1, 14, S2]),
        # drop_noise_tokens: 12 13 15; drop_nonnoise_tokens: 10 11 14
        ("drop", [12, 13, 15], [10, 11, 14]),
        # noise_token_to_sentinel: 999 999 12 13 999 15
        ("mask_token", [MASK, MASK, 12, 13, MASK, 15], [10, 11, 14]),
    ],
)
def test_fixtures_of_t5(replacement: str, source: list[int], dropped: list[int]) -> None:
    rows, noise = fixture()
    settings = SpanCorruption.model_validate({"replacement": replacement})
    result = replace_noise(settings, rows, noise, generator(), VOCABULARY)
    assert result.inputs.tolist() == [[2, *source, SEP]]
    assert result.lengths.tolist() == [len(source) + 2]
    assert result.dropped is not None
    assert real(*result.dropped, 0) == dropped
    assert result.aligned == (replacement == "mask_token")
    assert result.spans is not None
    assert result.spans.tolist() == [[-1, 0, 0, -1, -1, 1, -1, -1]]


def test_random_spans_of_t5() -> None:
    """568 tokens: 85 noise, 28 spans, of mean 3.036 and variance 5.7; P(1..4) = .32 .22 .15 .105;
    the first token is never noise, the last always."""
    mask = noise_mask(SpanCorruption(), np.full(1000, 568), generator())
    assert (mask.sum(1) == 85).all()
    assert not mask[:, 0].any() and mask[:, -1].all()
    edges = np.diff(np.pad(mask, ((0, 0), (1, 1))).astype(int), axis=1)
    assert ((edges == 1).sum(1) == 28).all()
    lengths = np.nonzero(edges == -1)[1] - np.nonzero(edges == 1)[1]
    assert lengths.mean() == pytest.approx(85 / 28)
    assert lengths.var() == pytest.approx(5.7, abs=0.2)
    for length, share in ((1, 0.32), (2, 0.22), (3, 0.15), (4, 0.105)):
        error = np.sqrt(share / lengths.size)
        assert abs((lengths == length).mean() - share) < 4 * error + 0.005


@given(st.integers(1, 40), st.data(), st.integers(0, 100))
def test_segments_are_not_empty_and_fill_the_total(
    total: int, data: st.DataObject, seed: int
) -> None:
    parts = data.draw(st.integers(1, total))
    ends = random_ends(np.array([total, 7]), np.array([parts, 2]), generator(seed))
    assert (np.diff(ends[0, :parts], prepend=0) > 0).all()
    assert ends[0, parts - 1 :].tolist() == [total] * (ends.shape[1] - parts + 1)


def test_segmentations_are_equally_likely() -> None:
    """5 items in 3 segments: 6 ways."""
    ends = random_ends(np.full(6000, 5), np.full(6000, 3), generator())
    ways, counts = np.unique(ends, axis=0, return_counts=True)
    assert len(ways) == 6
    assert ((counts - 1000) ** 2 / 1000).sum() < 20.5  # chi-squared with 5 degrees, p = 0.001


@pytest.mark.parametrize("parts", [2, 9])
def test_cuts_are_uniform_over_a_long_text(parts: int) -> None:
    """2001 items: equally many cuts in each of 20 stretches of 100."""
    ends = random_ends(np.full(1500, 2001), np.full(1500, parts), generator())
    counts = np.bincount((ends[:, :-1].ravel() - 1) // 100, minlength=20)
    expected = 1500 * (parts - 1) / 20
    assert ((counts - expected) ** 2 / expected).sum() < 43.8  # 19 degrees, p = 0.001


def test_iid_noise_of_t5() -> None:
    """15 % of 512 tokens: 65.3 spans n p (1 - p), of 1 / (1 - p) = 1.176 tokens."""
    mask = noise_mask(SpanCorruption(noise="iid"), np.full(2000, 512), generator())
    spans = (mask & ~np.pad(mask, ((0, 0), (1, 0)))[:, :-1]).sum(1)
    assert close(spans, 65.3)
    assert close(mask.sum(1), 0.15 * 512)
    assert mask.sum() / spans.sum() == pytest.approx(1.176, abs=0.006)


@pytest.mark.parametrize(
    ("noise", "length", "needed"),
    [("random_spans", 568, 28), ("random_spans", 1, 1), ("iid", 512, 66), ("iid", 1, 1)],
)
def test_spans_needed(noise: str, length: int, needed: int) -> None:
    assert spans_needed(SpanCorruption.model_validate({"noise": noise}), length) == needed


@pytest.mark.parametrize("length", [1, 2, 3, 5, 8, 21])
@pytest.mark.parametrize("rate", [0.15, 0.5, 0.9])
@pytest.mark.parametrize("mean", [1, 3, 64])
def test_short_texts_keep_something(length: int, rate: float, mean: float) -> None:
    settings = SpanCorruption(mask_rate=rate, mean_span_length=mean)
    mask = noise_mask(settings, np.array([length, 30]), generator())[0, :length]
    expected = min(max(round(length * rate), 1), length - 1)
    assert mask.sum() == expected and not mask[0]


def test_spans_beyond_the_sentinels_stay_in_the_text() -> None:
    rows, noise = fixture()
    few = make_vocabulary(sentinels=2)  # one span, and the end
    result = replace_noise(SpanCorruption(), rows, noise, generator(), few)
    s0, s1 = few.sentinels.tolist()
    assert result.inputs.tolist() == [[2, s0, 12, 13, 14, 15, SEP]]
    assert result.dropped is not None and result.dropped[0].tolist() == [[s0, 10, 11, s1]]
    assert result.chosen[0].nonzero()[0].tolist() == [1, 2]
    with pytest.raises(ValueError, match=r"tokenizer\.sentinels"):
        replace_noise(SpanCorruption(), rows, noise, generator(), make_vocabulary(sentinels=0))


def test_separators_inside_the_text_are_kept_and_split_spans() -> None:
    rows = make_rows([[3, 3]])
    noise = rows.maskable.copy()
    noise[0, [1, 7]] = False
    result = replace_noise(SpanCorruption(), rows, noise, generator(), VOCABULARY)
    first, last = rows.tokens[0, [1, 7]].tolist()
    assert result.inputs.tolist() == [[2, first, S0, SEP, S1, last, SEP]]


def test_random_tokens_in_the_place_of_noise() -> None:
    rows = equal_rows(300, 100)
    settings = SpanCorruption(noise="iid", replacement="mask_token", random_token_rate=0.1)
    result = span_corruption(settings, rows, generator(), VOCABULARY)
    seen = result.inputs[result.chosen]
    assert close((seen != MASK).astype(float), 0.1)
    assert ((seen == MASK) | (seen >= SPECIAL) & (seen < MODE)).all()
