"""Whole words, n-grams and spans of words, against the published code written token by token."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.pretraining.objectives.transforms.masking import (
    NgramMasking,
    SpanMasking,
    ngram_masking,
    span_masking,
)
from harness.pretraining.objectives.transforms.span_selection import choose_ngrams, choose_words
from tests.pretraining.objectives.transforms.texts import (
    MASK,
    VOCABULARY,
    WORDS,
    close,
    equal_rows,
    make_rows,
)

word_sizes = st.lists(st.lists(st.integers(1, 5), min_size=1, max_size=10), min_size=1, max_size=4)


def choose_as_bert(sizes: list[int], order: list[int], budget: int) -> set[int]:
    """google-research/bert `create_masked_lm_predictions` with whole words, on the words' sizes."""
    taken: set[int] = set()
    used = 0
    for word in order:
        if used >= budget:
            break
        if used + sizes[word] > budget:
            continue
        taken.add(word)
        used += sizes[word]
    return taken


def choose_as_albert(
    sizes: list[int], order: list[int], lengths: list[int], budget: int
) -> set[int]:
    """google-research/albert `create_masked_lm_predictions`, on the words' sizes."""
    taken: set[int] = set()
    used = 0
    for first in order:
        if used >= budget:
            break
        grams = [range(first, min(first + n, len(sizes))) for n in range(lengths[first], 0, -1)]
        fitting = [gram for gram in grams if used + sum(sizes[w] for w in gram) <= budget]
        if not fitting or taken & set(fitting[0]):
            continue
        taken |= set(fitting[0])
        used += sum(sizes[word] for word in fitting[0])
    return taken


def lay_out(sizes: list[list[int]]) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    """maskable and starts [B, T] of rows of words of these sizes, and each word's first column."""
    width = max(map(sum, sizes)) + 1
    maskable, starts = np.zeros((2, len(sizes), width), dtype=bool)
    begins = [1 + np.cumsum(words) - words for words in sizes]
    for row, words in enumerate(sizes):
        maskable[row, 1 : 1 + sum(words)] = True
        starts[row, begins[row]] = True
    return maskable, starts, begins


@given(word_sizes, st.integers(0, 100))
@settings(max_examples=200)
def test_words_are_chosen_as_by_bert_and_ngrams_as_by_albert(
    sizes: list[list[int]], seed: int
) -> None:
    rng = np.random.default_rng(seed)
    maskable, starts, begins = lay_out(sizes)
    keys = rng.random(maskable.shape)
    budget = rng.integers(1, 8, len(sizes))
    lengths = rng.integers(1, 4, (len(sizes), max(map(len, sizes))))
    words, grams = np.zeros((2, *maskable.shape), dtype=bool)
    for row, row_sizes in enumerate(sizes):
        order = np.argsort(keys[row, begins[row]]).tolist()
        most = int(budget[row])
        for expected, taken in (
            (words, choose_as_bert(row_sizes, order, most)),
            (grams, choose_as_albert(row_sizes, order, lengths[row].tolist(), most)),
        ):
            for word in taken:
                begin = begins[row][word]
                expected[row, begin : begin + row_sizes[word]] = True
    assert np.array_equal(choose_words(maskable, starts, keys, budget), words)
    assert np.array_equal(choose_ngrams(maskable, starts, keys, lengths, budget), grams)


def test_words_start_where_the_tokenizer_says_or_after_a_special_token() -> None:
    tokens = np.array([[2, 7, 8, 9, 3, 6, 8, 3]])  # 6 and 9 continue words
    maskable = np.array([[False, True, True, True, False, True, True, False]])
    starts = VOCABULARY.word_starts(tokens, maskable)
    assert starts.tolist() == [[False, True, True, False, False, True, True, False]]


def test_ngrams_of_albert() -> None:
    """p(n) = 0.545, 0.273, 0.182 at a rate so low that n-grams hardly meet."""
    rows = equal_rows(3000, 498)
    result = ngram_masking(NgramMasking(mask_rate=0.006), rows, np.random.default_rng(0), WORDS)
    assert (result.chosen.sum(1) <= 3).all()
    assert result.spans is not None
    # Of a budget of 3, the first n-gram is cut by nothing: the only one of those rows.
    one = result.spans.max(1) == 0
    assert (result.chosen[one].sum(1) == 3).all()
    # Either a trigram, or a shorter one and what fills the budget. Trigrams first: 0.182; those of
    # two n-grams that touch are fewer than 1 in 100.
    assert abs(one.mean() - 2 / 11) < 4 * np.sqrt(2 / 11 * 9 / 11 / 3000) + 0.012


def test_ngrams_of_declared_shares() -> None:
    """Of a budget of 3, the first n-gram is a trigram as often as declared (Dong et al. 2019,
    section 2.4: 80 % of one token, 20 % of two or three)."""
    rows = equal_rows(3000, 498)
    settings = NgramMasking(mask_rate=0.006, shares=(0.8, 0.1, 0.1))
    result = ngram_masking(settings, rows, np.random.default_rng(0), WORDS)
    assert result.spans is not None
    one = result.spans.max(1) == 0
    assert abs(one.mean() - 0.1) < 4 * np.sqrt(0.1 * 0.9 / 3000) + 0.012
    alone = NgramMasking(mask_rate=0.006, shares=(1, 0, 0))
    single = ngram_masking(alone, rows, np.random.default_rng(0), WORDS)
    assert single.spans is not None and (single.spans.max(1) == 0).mean() < 0.001


def test_ngrams_of_tokens_begin_inside_words() -> None:
    """Every third token continues a word; without whole words, each budget is spent."""
    rows = make_rows([[120], [40, 30], [7]] * 100)
    of_tokens = NgramMasking(unit="token")
    result = ngram_masking(of_tokens, rows, np.random.default_rng(0), VOCABULARY)
    budget = np.maximum(1, np.rint(0.15 * rows.lengths))
    assert np.array_equal(result.chosen.sum(1), budget)
    continues = rows.maskable & ~VOCABULARY.word_start[rows.tokens]
    first = result.chosen & ~np.pad(result.chosen, ((0, 0), (1, 0)))[:, :-1]
    assert (first & continues).sum() / first.sum() > 0.2
    words = ngram_masking(NgramMasking(), rows, np.random.default_rng(0), VOCABULARY)
    first = words.chosen & ~np.pad(words.chosen, ((0, 0), (1, 0)))[:, :-1]
    assert (first & continues).sum() < 0.05 * first.sum()


def test_ngrams_stay_in_their_budget() -> None:
    rows = make_rows([[120], [40, 30], [7]] * 100)
    result = ngram_masking(NgramMasking(), rows, np.random.default_rng(0), VOCABULARY)
    budget = np.maximum(1, np.rint(0.15 * rows.lengths))
    counts = result.chosen.sum(1)
    assert (counts <= budget).all() and counts.mean() > 0.95 * budget.mean()


def test_spans_of_spanbert_have_its_lengths() -> None:
    """P(l) of Geo(0.2) over 1 to 10, seen in how many spans spend a budget of 10 tokens."""
    expected = (0.224, 0.179, 0.143, 0.115, 0.092, 0.073, 0.059, 0.047, 0.038, 0.030)
    shares = 0.8 ** np.arange(10)
    np.testing.assert_allclose(shares / shares.sum(), expected, atol=6e-4)
    long = equal_rows(4000, 1000)
    result = span_masking(SpanMasking(mask_rate=0.01), long, np.random.default_rng(0), WORDS)
    assert result.spans is not None
    # One more than the sums of lengths that stay below 10; few spans of 10 tokens in 1000 meet.
    counts = result.spans.max(1) + 1
    draws = 1 + np.random.default_rng(1).choice(10, (100_000, 10), p=shares / shares.sum())
    assert close(counts, (draws.cumsum(1) < 10).sum(1).mean() + 1)


def test_spans_of_spanbert_meet_their_budget_exactly() -> None:
    rows = make_rows([[125], [40, 30], [20], [3], [1], []] * 50)
    result = span_masking(SpanMasking(), rows, np.random.default_rng(0), VOCABULARY)
    assert result.chosen.sum(1)[:6].tolist() == [19, 11, 3, 1, 1, 0]
    assert (result.chosen.sum(1).reshape(50, 6) == [19, 11, 3, 1, 1, 0]).all()


def test_spans_start_with_words_and_are_apart() -> None:
    rows = make_rows([[125], [60, 50]] * 50)
    result = span_masking(SpanMasking(), rows, np.random.default_rng(0), VOCABULARY)
    assert result.spans is not None
    starts = VOCABULARY.word_starts(rows.tokens, rows.maskable)
    previous, own = result.spans[:, :-1], result.spans[:, 1:]
    begins = (own >= 0) & (previous < 0)
    assert starts[:, 1:][begins].all()
    assert not ((own >= 0) & (previous >= 0) & (own != previous)).any()
    assert np.array_equal(begins.sum(1), result.spans.max(1) + 1)


def test_a_span_has_one_fate() -> None:
    rows = equal_rows(3000, 125)
    result = span_masking(SpanMasking(), rows, np.random.default_rng(0), VOCABULARY)
    assert result.spans is not None
    masked = (result.inputs == MASK) & result.chosen
    kept = (result.inputs == rows.tokens) & result.chosen
    flat = (result.spans + 100 * np.arange(3000)[:, None])[result.chosen]
    sizes = np.bincount(flat)
    shares = np.bincount(flat, masked[result.chosen]) / np.maximum(sizes, 1)
    fates = shares[sizes > 0]
    assert set(fates.tolist()) == {0.0, 1.0}
    assert close(fates, 0.8)
    whole = np.bincount(flat, kept[result.chosen])[sizes > 2] == sizes[sizes > 2]
    assert close(whole.astype(float), 0.1, errors=5)
