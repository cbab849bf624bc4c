"""Prefix, deshuffling, and the factorisation order against transformers' collator."""

import numpy as np
import pytest

from harness.pretraining.objectives.transforms.order import (
    ContextWindow,
    Deshuffling,
    PermutationOrder,
    Prefix,
    context_window,
    deshuffling,
    permutation_order,
    prefix,
)
from tests.pretraining.objectives.transforms.test_masking import collator_tokenizer
from tests.pretraining.objectives.transforms.texts import (
    VOCABULARY,
    close,
    equal_rows,
    make_rows,
    real,
)


def generator(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_the_prefix_is_cut_uniformly() -> None:
    """T5's `random_prefix_noise_mask`: 1 to n - 1 tokens are given."""
    result = prefix(Prefix(), equal_rows(9000, 10), generator(), VOCABULARY)
    counts = np.bincount(result.lengths - 2, minlength=10)[1:]
    assert counts.sum() == 9000 and len(counts) == 9
    assert ((counts - 1000) ** 2 / 1000).sum() < 26.1  # chi-squared with 8 degrees, p = 0.001


@pytest.mark.parametrize(
    ("least", "most", "length", "target"),
    [
        (0.25, 0.25, 100, (25, 25)),  # UL2's sequential denoiser
        (0.25, 0.25, 10, (3, 3)),
        (0.3, 0.6, 10, (3, 6)),
        (0.0, 1.0, 10, (1, 9)),
        (0.0, 0.01, 10, (1, 1)),
        (0.99, 1.0, 10, (9, 9)),
        (0.0, 1.0, 2, (1, 1)),
        (0.0, 1.0, 1, (0, 0)),
    ],
)
def test_the_share_of_the_target(
    least: float, most: float, length: int, target: tuple[int, int]
) -> None:
    settings = Prefix(min_target_fraction=least, max_target_fraction=most)
    result = prefix(settings, equal_rows(300, length), generator(), VOCABULARY)
    assert result.dropped is not None
    assert (result.dropped[1].min(), result.dropped[1].max()) == target
    assert np.array_equal(result.chosen.sum(1), result.dropped[1])


def test_deshuffling_is_uniform() -> None:
    rows = make_rows([[2, 1]] * 3000)
    rows.tokens[:, [1, 2, 4]] = [10, 11, 12]
    result = deshuffling(Deshuffling(), rows, generator(), VOCABULARY)
    ways, counts = np.unique(result.inputs, axis=0, return_counts=True)
    assert len(ways) == 6 and (result.inputs[:, 3] == 3).all()
    assert ((counts - 500) ** 2 / 500).sum() < 20.5  # chi-squared with 5 degrees, p = 0.001
    assert np.array_equal(result.chosen, rows.maskable) and not result.aligned


def collated(rows_of_text: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """chosen [B, T] and perm_mask [B, T, T] of the collator."""
    import torch
    from transformers import DataCollatorForPermutationLanguageModeling

    torch.manual_seed(0)
    collator = DataCollatorForPermutationLanguageModeling(collator_tokenizer())
    theirs = collator([torch.tensor(row) for row in rows_of_text])
    return theirs["labels"].numpy() != -100, theirs["perm_mask"].numpy() == 1


def perm_mask(chosen: np.ndarray, order: np.ndarray) -> np.ndarray:
    """[B, T, T] bool: whether position i may not see position j in the query stream."""
    hidden: np.ndarray = chosen[:, None] & (order[:, :, None] <= order[:, None])
    return hidden


def test_permutation_agrees_with_transformers() -> None:
    """1 in 6 of 512 positions, special tokens left out; spans of 1 to 5; the same visibility."""
    rows = equal_rows(200, 510)
    result = permutation_order(PermutationOrder(), rows, generator(), VOCABULARY)
    assert result.order is not None
    their_chosen, their_mask = collated(rows.tokens)
    ours, theirs = result.chosen.sum(1), their_chosen.sum(1)
    assert close(ours / 512, 1 / 6, errors=5) and close(theirs / 512, 1 / 6, errors=5)
    assert abs(ours.std() - theirs.std()) < 0.5
    mask = perm_mask(result.chosen, result.order)
    for chosen, hidden in ((result.chosen, mask), (their_chosen, their_mask)):
        check_visibility(chosen[:20], hidden[:20], rows.maskable[:20])


def check_visibility(chosen: np.ndarray, hidden: np.ndarray, text: np.ndarray) -> None:
    for targets, unseen, tokens in zip(chosen, hidden, text, strict=True):
        assert not unseen[:, ~targets].any(), "what is no target is seen from everywhere"
        assert unseen[np.ix_(tokens & ~targets, targets)].all(), "and sees no target"
        among = unseen[np.ix_(targets, targets)]
        assert among.diagonal().all(), "a target does not see itself"
        off = ~np.eye(len(among), dtype=bool)
        assert (among ^ among.T)[off].all(), "of two targets one sees the other"
        # An order, not just a tournament: the targets see 0, 1, 2, .. others.
        assert sorted((~among).sum(1).tolist()) == list(range(len(among)))


def test_spans_to_predict_are_uniform_over_1_to_5() -> None:
    """The first span of each row, of stretches so long that hardly two touch."""
    settings = PermutationOrder(max_span_length=5, context_factor=100)
    chosen = permutation_order(settings, equal_rows(4000, 598), generator(), VOCABULARY).chosen
    edges = np.diff(np.pad(chosen, ((0, 0), (1, 1))).astype(int), axis=1)
    row, begin = np.nonzero(edges == 1)
    lengths = np.nonzero(edges == -1)[1] - begin
    first = lengths[np.unique(row, return_index=True)[1]]
    shares = np.bincount(first, minlength=6)[1:6] / first.size
    np.testing.assert_allclose(shares, 0.2, atol=4 * np.sqrt(0.16 / first.size))


def test_orders_are_uniform_and_inputs_unchanged() -> None:
    rows = equal_rows(2000, 60)
    result = permutation_order(PermutationOrder(), rows, generator(), VOCABULARY)
    assert result.order is not None and np.array_equal(result.inputs, rows.tokens)
    pairs = [order[order >= 0][[0, 3]] for order in result.order if (order >= 0).sum() > 3]
    first, second = np.array(pairs).T
    assert close((first < second).astype(float), 0.5)


@pytest.mark.parametrize("size", [1, 5])
def test_windows_are_uniform_over_1_to_size(size: int) -> None:
    rows = equal_rows(400, 60)
    result = context_window(ContextWindow(size=size), rows, generator(), VOCABULARY)
    assert result.window is not None and np.array_equal(result.inputs, rows.tokens)
    drawn = result.window[rows.maskable]
    shares = np.bincount(drawn, minlength=size + 1)[1:] / drawn.size
    np.testing.assert_allclose(shares, 1 / size, atol=4 * np.sqrt(0.16 / drawn.size))
    assert drawn.max() == size and not result.window[~rows.maskable].any()


def test_prefix_and_target_give_the_row_back() -> None:
    rows = make_rows([[6], [3, 4], [1]])
    result = prefix(Prefix(), rows, generator(), VOCABULARY)
    assert result.dropped is not None
    for row in range(3):
        given = real(result.inputs, result.lengths, row)
        target = real(*result.dropped, row)
        length = int(rows.lengths[row])
        assert [*given[:-1], *target, given[-1]] == rows.tokens[row, :length].tolist()
