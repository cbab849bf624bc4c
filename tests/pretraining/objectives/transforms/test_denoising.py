"""BART's noises: the statistics of fairseq's code, and each noise by itself."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.pretraining.objectives.layout import Rows
from harness.pretraining.objectives.transforms.denoising import (
    Denoising,
    denoising,
    poisson_lengths,
)
from tests.pretraining.objectives.transforms.texts import (
    MASK,
    SEP,
    VOCABULARY,
    WORDS,
    close,
    equal_rows,
    make_rows,
    real,
    text_of,
)


def generator(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_infilling_of_fairseq() -> None:
    """512 tokens at a rate of 0.3, words of one token: 26.7 % of them hidden, as spans overlap;
    42.5 masks, 418.2 tokens left; 2.5 masks are inserted for spans of length 0."""
    rows = equal_rows(1500, 512)
    result = denoising(Denoising(infill_rate=0.3), rows, generator(), WORDS)
    masks = (result.inputs == MASK).sum(1)
    assert close(result.chosen.sum(1) / 512, 0.267)
    assert close(result.lengths - 2, 418.2)
    assert close(masks, 42.5, errors=6)
    assert (result.lengths - 2 == 512 - result.chosen.sum(1) + masks).all()
    _, inserted = poisson_lengths(np.full(1500, 154), 3.0, generator())
    assert close(inserted, 2.5, errors=6)


@given(st.lists(st.integers(0, 60), min_size=1, max_size=4), st.floats(0.05, 8))
def test_lengths_sum_to_the_budget(budget: list[int], mean: float) -> None:
    lengths, inserted = poisson_lengths(np.array(budget), mean, generator())
    assert lengths.sum(1).tolist() == budget and (inserted >= 0).all()
    assert not inserted[np.array(budget) == 0].any(), "nothing is drawn once the budget is spent"
    assert ((lengths > 0) == (np.arange(lengths.shape[1]) < (lengths > 0).sum(1)[:, None])).all()


def test_the_lengths_of_spans_are_poisson() -> None:
    """But for the last, which is cut."""
    lengths, inserted = poisson_lengths(np.full(500, 600), 3.0, generator())
    zeros, drawn = inserted.sum(), inserted.sum() + (lengths > 0).sum()
    for length, share in enumerate((0.0498, 0.1494, 0.2240, 0.2240, 0.1680)):
        found = (zeros if length == 0 else (lengths == length).sum()) / drawn
        assert abs(found - share) < 4 * np.sqrt(share / drawn) + 1 / 200


def test_a_span_hides_whole_words() -> None:
    rows = equal_rows(200, 100)
    chosen = denoising(Denoising(infill_rate=0.3), rows, generator(), VOCABULARY).chosen
    inside = (~VOCABULARY.word_start[rows.tokens] & rows.maskable)[:, 2:]
    assert not (chosen[:, 2:] != chosen[:, 1:-1])[inside].any()


def test_masking_keeps_the_length_and_deletion_shortens() -> None:
    rows = make_rows([[100], [33]] * 20)
    masked = denoising(Denoising(mask_rate=0.15), rows, generator(), VOCABULARY)
    assert np.array_equal(masked.lengths, rows.lengths)
    assert (masked.chosen.sum(1)[:2] == [15, 5]).all(), "rounded up"
    assert np.array_equal(masked.inputs == MASK, masked.chosen)
    deleted = denoising(Denoising(delete_rate=0.15), rows, generator(), VOCABULARY)
    assert (rows.lengths - deleted.lengths == deleted.chosen.sum(1)).all()
    for row in range(40):
        left = rows.tokens[row][rows.maskable[row] & ~deleted.chosen[row]].tolist()
        assert real(deleted.inputs, deleted.lengths, row)[1:-1] == left


def sentences_of(rows: Rows, row: int) -> list[list[int]]:
    sentences: list[list[int]] = []
    for column in np.flatnonzero(rows.maskable[row]):
        if not sentences or rows.sentence_starts[row, column]:
            sentences.append([])
        sentences[-1].append(int(rows.tokens[row, column]))
    return sentences


@pytest.mark.parametrize("share", [0.4, 1.0])
def test_sentences_stay_whole_when_permuted(share: float) -> None:
    rows = make_rows([[60], [30, 20], [9]] * 20)
    result = denoising(Denoising(permute_sentences=share), rows, generator(), VOCABULARY)
    moved = 0
    for row in range(60):
        sentences = sentences_of(rows, row)
        source = real(result.inputs, result.lengths, row)[1:-1]
        left = list(sentences)
        fixed = 0
        for place in range(len(sentences)):
            heads = [s for s in left if source[: len(s)] == s]
            sentence = max(heads, key=len)
            fixed += sentence == sentences[place]
            source = source[len(sentence) :]
            left.remove(sentence)
        assert not source and not left
        assert len(sentences) - fixed <= np.ceil(share * len(sentences))
        moved += len(sentences) - fixed
    assert moved > 60 * share


def test_orders_of_sentences_are_equally_likely() -> None:
    rows = equal_rows(3000, 3)
    rows.sentence_starts[:] = rows.maskable
    rows.tokens[:, 1:4] = [10, 11, 12]
    inputs = denoising(Denoising(permute_sentences=1), rows, generator(), VOCABULARY).inputs
    ways, counts = np.unique(inputs, axis=0, return_counts=True)
    assert len(ways) == 6
    assert ((counts - 500) ** 2 / 500).sum() < 20.5  # chi-squared with 5 degrees, p = 0.001


def test_rotation_starts_at_any_token() -> None:
    rows = equal_rows(4000, 8)
    rows.tokens[:, 1:9] = np.arange(10, 18)
    inputs = denoising(Denoising(rotate_rate=1), rows, generator(), VOCABULARY).inputs
    offsets, counts = np.unique(inputs[:, 1] - 10, return_counts=True)
    assert offsets.tolist() == list(range(8))
    assert ((counts - 500) ** 2 / 500).sum() < 24.3  # chi-squared with 7 degrees, p = 0.001
    assert (np.diff(inputs[:, 1:9], axis=1) % 8 == 1).all()
    some = denoising(Denoising(rotate_rate=0.5), rows, generator(), VOCABULARY)
    assert close((some.inputs[:, 1] != 10).astype(float), 0.5 * 7 / 8)
    assert np.array_equal(some.chosen.any(1), some.inputs[:, 1] != 10)


def test_separators_inside_the_text_are_left_out() -> None:
    rows = make_rows([[5, 4]])
    result = denoising(Denoising(), rows, generator(), VOCABULARY)
    plain = [token for token in text_of(rows, 0) if token != SEP]
    assert real(result.inputs, result.lengths, 0) == [2, *plain, SEP]


def test_an_input_is_never_longer_than_its_row() -> None:
    """Short spans put in more masks than they take out; positions end where the row does."""
    from harness.pretraining.objectives.transforms import apply_transform

    rows = make_rows([[60]] * 200)
    settings = Denoising(infill_rate=0.9, poisson_lambda=0.5)
    made = apply_transform(settings, rows, np.random.default_rng(0), VOCABULARY)
    width = rows.tokens.shape[1]
    assert made.inputs.shape[1] <= width and (made.lengths == width).any()
    last = made.inputs[np.arange(200), made.lengths - 1]
    assert (last == VOCABULARY.sep).all()
