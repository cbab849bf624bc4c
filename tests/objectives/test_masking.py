"""Masking: invariants for any batch, BERT's counts, and rates against transformers' collator."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.objectives import Objective
from harness.objectives.masking import (
    choose_words,
    joint_draws,
    mask_tokens,
    row_draws,
    word_starts,
)
from harness.objectives.vocabulary import Vocabulary

VOCAB = 60
SPECIAL = 5
VOCABULARY = Vocabulary(
    VOCAB,
    pad=0,
    cls=2,
    sep=3,
    mask=4,
    special=np.arange(VOCAB) < SPECIAL,
    word_start=np.arange(VOCAB) % 3 != 0,  # every third token continues a word
)


def make_rows(lengths: list[int], seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Tokens and maskable of rows [CLS] text [SEP] with this many tokens of text."""
    rng = np.random.default_rng(seed)
    tokens = np.zeros((len(lengths), max(lengths) + 2), dtype=np.int64)
    maskable = np.zeros(tokens.shape, dtype=bool)
    for row, length in enumerate(lengths):
        tokens[row, : length + 2] = [2, *rng.integers(SPECIAL, VOCAB, length), 3]
        maskable[row, 1 : length + 1] = True
    return tokens, maskable


objectives = st.builds(
    lambda rate, split, whole: Objective(
        mask_rate=rate, mask_token_rate=split[0], random_token_rate=split[1], whole_word=whole
    ),
    st.floats(0.01, 0.6),
    st.sampled_from([(0.8, 0.1), (1.0, 0.0), (0.0, 1.0), (0.0, 0.0), (0.8, 0.2)]),
    st.booleans(),
)


@given(
    lengths=st.lists(st.integers(1, 40), min_size=1, max_size=6),
    objective=objectives,
    seed=st.integers(0, 1000),
)
@settings(max_examples=100, deadline=None)
def test_invariants(lengths: list[int], objective: Objective, seed: int) -> None:
    tokens, maskable = make_rows(lengths, seed)
    draws = joint_draws(tokens.shape, np.random.default_rng(seed))
    before = tokens.copy()
    inputs, chosen = mask_tokens(tokens, maskable, draws, objective, VOCABULARY)
    assert np.array_equal(tokens, before), "a pure function"
    assert not (chosen & ~maskable).any(), "special tokens and padding are never chosen"
    assert np.array_equal(inputs[~chosen], tokens[~chosen]), "only chosen tokens change"
    restored = inputs.copy()
    restored[chosen] = tokens[chosen]
    assert np.array_equal(restored, tokens), "inputs and targets give the text back"
    changed = inputs[chosen & (inputs != VOCABULARY.mask)]
    assert (changed >= SPECIAL).all(), "a random token is no special one"
    budget = np.maximum(1, np.rint(objective.mask_rate * (np.array(lengths) + 2)))
    if objective.whole_word:
        assert (chosen.sum(1) <= budget).all()
    else:
        assert np.array_equal(chosen.sum(1), np.minimum(budget, lengths))
    again = mask_tokens(tokens, maskable, draws, objective, VOCABULARY)
    assert np.array_equal(again[0], inputs) and np.array_equal(again[1], chosen)


@pytest.mark.parametrize(("text", "count"), [(126, 19), (125, 19), (510, 77), (1, 1), (10, 2)])
def test_counts_of_bert(text: int, count: int) -> None:
    """round(0.15 x length), special tokens counted: 19 at 128 and 77 at 512."""
    tokens, maskable = make_rows([text])
    draws = joint_draws(tokens.shape, np.random.default_rng(0))
    assert mask_tokens(tokens, maskable, draws, Objective(), VOCABULARY)[1].sum() == count


def test_every_position_is_chosen_equally_often() -> None:
    tokens, maskable = make_rows([30] * 4000)
    draws = joint_draws(tokens.shape, np.random.default_rng(0))
    _, chosen = mask_tokens(tokens, maskable, draws, Objective(), VOCABULARY)
    rates = chosen[:, 1:31].mean(0)
    assert np.abs(rates - 5 / 30).max() < 0.03


def test_rates_agree_with_transformers() -> None:
    """DataCollatorForLanguageModeling: 15 % of the text; 80 / 10 / 10 of it. It draws each token by
    itself, so its count varies where ours does not."""
    import torch
    from tokenizers import Tokenizer, models
    from transformers import DataCollatorForLanguageModeling, PreTrainedTokenizerFast

    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(f"w{i}" for i in range(5, VOCAB))]
    model = models.WordLevel({name: i for i, name in enumerate(names)}, unk_token="[UNK]")
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer(model),
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
    )
    tokens, maskable = make_rows([126] * 600)
    collator = DataCollatorForLanguageModeling(tokenizer, mlm_probability=0.15, seed=0)
    theirs = collator([{"input_ids": torch.tensor(row)} for row in tokens])
    their_chosen = theirs["labels"].numpy() != -100
    draws = joint_draws(tokens.shape, np.random.default_rng(0))
    inputs, chosen = mask_tokens(tokens, maskable, draws, Objective(), VOCABULARY)
    ours = split_of(tokens, inputs, chosen)
    assert abs(chosen[maskable].mean() - their_chosen[maskable].mean()) < 0.01
    np.testing.assert_allclose(
        ours, split_of(tokens, theirs["input_ids"].numpy(), their_chosen), atol=0.015
    )
    np.testing.assert_allclose(ours, (0.8, 0.1, 0.1), atol=0.01)


def split_of(tokens: np.ndarray, inputs: np.ndarray, chosen: np.ndarray) -> list[float]:
    """Shares of the chosen tokens that are masked, kept, and replaced."""
    masked = inputs[chosen] == VOCABULARY.mask
    kept = inputs[chosen] == tokens[chosen]
    return [float(share.mean()) for share in (masked, kept, ~masked & ~kept)]


def choose_words_as_bert(sizes: list[int], order: list[int], budget: int) -> set[int]:
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


@given(
    sizes=st.lists(st.lists(st.integers(1, 5), min_size=1, max_size=10), min_size=1, max_size=4),
    seed=st.integers(0, 100),
)
@settings(max_examples=100, deadline=None)
def test_whole_words_are_chosen_as_by_bert(sizes: list[list[int]], seed: int) -> None:
    rng = np.random.default_rng(seed)
    width = max(map(sum, sizes)) + 1
    maskable, starts = np.zeros((2, len(sizes), width), dtype=bool)
    keys = rng.random((len(sizes), width))
    budget = rng.integers(1, 8, len(sizes))
    expected = np.zeros_like(maskable)
    for row, words in enumerate(sizes):
        begins = 1 + np.cumsum(words) - words
        maskable[row, 1 : 1 + sum(words)] = True
        starts[row, begins] = True
        order = np.argsort(keys[row, begins]).tolist()
        for word in choose_words_as_bert(words, order, int(budget[row])):
            expected[row, begins[word] : begins[word] + words[word]] = True
    assert np.array_equal(choose_words(maskable, starts, keys, budget), expected)


def test_words_start_where_the_tokenizer_says_or_after_a_special_token() -> None:
    tokens = np.array([[2, 6, 7, 9, 3, 6, 8, 3]])  # 6 and 9 continue words
    maskable = np.array([[False, True, True, True, False, True, True, False]])
    starts = word_starts(tokens, maskable, VOCABULARY)
    assert starts.tolist() == [[False, True, True, False, False, True, True, False]]


def test_row_draws_do_not_depend_on_the_batch() -> None:
    seeds = [(0, 1), (0, 2)]
    together = row_draws(np.array([5, 9]), 16, seeds)
    alone = row_draws(np.array([5]), 8, seeds[:1])
    assert np.array_equal(together[:, 0, :5], alone[:, 0, :5])
