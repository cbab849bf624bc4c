"""Token masking: BERT's counts, ELECTRA's, and rates against transformers' collator."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.pretraining.objectives.layout import Rows
from harness.pretraining.objectives.transforms.masking import TokenMasking, token_masking
from tests.pretraining.objectives.transforms.texts import (
    MASK,
    MODE,
    SPECIAL,
    VOCAB,
    VOCABULARY,
    close,
    equal_rows,
    make_rows,
)

settings_of_masking = st.builds(
    lambda rate, split, whole: TokenMasking(
        mask_rate=rate, mask_token_rate=split[0], random_token_rate=split[1], whole_word=whole
    ),
    st.floats(0.01, 0.6),
    st.sampled_from([(0.8, 0.1), (1.0, 0.0), (0.0, 1.0), (0.0, 0.0), (0.8, 0.2)]),
    st.booleans(),
)


def generator(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@given(
    lengths=st.lists(st.integers(1, 40), min_size=1, max_size=6),
    settings=settings_of_masking,
    seed=st.integers(0, 1000),
)
def test_invariants(lengths: list[int], settings: TokenMasking, seed: int) -> None:
    rows = make_rows([[length] for length in lengths], seed)
    result = token_masking(settings, rows, generator(seed), VOCABULARY)
    restored = result.inputs.copy()
    restored[result.chosen] = rows.tokens[result.chosen]
    assert np.array_equal(restored, rows.tokens), "inputs and targets give the text back"
    changed = result.inputs[result.chosen & (result.inputs != MASK)]
    assert ((changed >= SPECIAL) & (changed < MODE)).all(), "a random token is no special one"
    budget = np.maximum(1, np.rint(settings.mask_rate * (np.array(lengths) + 2)))
    if settings.whole_word:
        assert (result.chosen.sum(1) <= budget).all()
    else:
        assert np.array_equal(result.chosen.sum(1), np.minimum(budget, lengths))


@pytest.mark.parametrize(("text", "count"), [(126, 19), (125, 19), (510, 77), (1, 1), (10, 2)])
def test_counts_of_bert(text: int, count: int) -> None:
    """round(0.15 x length), special tokens counted: 19 at 128 and 77 at 512."""
    rows = equal_rows(3, text)
    chosen = token_masking(TokenMasking(), rows, generator(), VOCABULARY).chosen
    assert (chosen.sum(1) == count).all()


def test_counts_of_bert_in_pairs() -> None:
    """Of 128 tokens of a pair, 125 of them text, 19 are chosen."""
    rows = make_rows([[60, 65]] * 20)
    assert (rows.lengths == 128).all()
    chosen = token_masking(TokenMasking(), rows, generator(), VOCABULARY).chosen
    assert (chosen.sum(1) == 19).all()


def test_every_position_is_chosen_equally_often() -> None:
    rows = equal_rows(4000, 30)
    rates = token_masking(TokenMasking(), rows, generator(), VOCABULARY).chosen[:, 1:31].mean(0)
    error = np.sqrt(5 / 30 * 25 / 30 / 4000)
    assert np.abs(rates - 5 / 30).max() < 4.5 * error


def test_electra_draws_with_replacement() -> None:
    """19 draws from 125 tokens: 125 (1 - (1 - 1/125)^19) = 17.7 distinct ones."""
    rows = make_rows([[60, 65]] * 2000)
    settings = TokenMasking(with_replacement=True, mask_token_rate=0.85, random_token_rate=0)
    result = token_masking(settings, rows, generator(), VOCABULARY)
    counts = result.chosen.sum(1)
    assert close(counts, 125 * (1 - (1 - 1 / 125) ** 19)) and close(counts, 17.7)
    assert counts.max() <= 19 and counts.std() > 0.8
    assert close((result.inputs == MASK)[result.chosen].astype(float), 0.85)
    assert np.array_equal(result.inputs[result.inputs != MASK], rows.tokens[result.inputs != MASK])


def collator_tokenizer() -> Any:
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast

    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(f"w{i}" for i in range(5, VOCAB))]
    model = models.WordLevel({name: i for i, name in enumerate(names)}, unk_token="[UNK]")
    return PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer(model),
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
    )


def test_rates_agree_with_transformers() -> None:
    """DataCollatorForLanguageModeling: 15 % of the text; 80 / 10 / 10 of it. It draws each token by
    itself, so its count varies where ours does not."""
    import torch
    from transformers import DataCollatorForLanguageModeling

    rows = equal_rows(600, 126)
    collator = DataCollatorForLanguageModeling(collator_tokenizer(), mlm_probability=0.15, seed=0)
    theirs = collator([{"input_ids": torch.tensor(row)} for row in rows.tokens])
    their_chosen = theirs["labels"].numpy() != -100
    result = token_masking(TokenMasking(), rows, generator(), VOCABULARY)
    text = rows.maskable
    assert abs(result.chosen[text].mean() - their_chosen[text].mean()) < 0.01
    assert their_chosen.sum(1).std() > 3 and result.chosen.sum(1).std() == 0
    ours = split_of(rows, result.inputs, result.chosen)
    np.testing.assert_allclose(
        ours, split_of(rows, theirs["input_ids"].numpy(), their_chosen), atol=0.015
    )
    np.testing.assert_allclose(ours, (0.8, 0.1, 0.1), atol=0.01)


def split_of(rows: Rows, inputs: np.ndarray, chosen: np.ndarray) -> list[float]:
    """Shares of the chosen tokens that are masked, kept, and replaced."""
    masked = inputs[chosen] == MASK
    kept = inputs[chosen] == rows.tokens[chosen]
    return [float(share.mean()) for share in (masked, kept, ~masked & ~kept)]


def test_whole_words_agree_with_transformers() -> None:
    """With `whole_word_mask` the collator also masks whole words, found by their offsets; it draws
    each word by itself and masks all of it, where BERT draws each token's fate."""
    import torch
    from transformers import DataCollatorForLanguageModeling

    rows = equal_rows(400, 126)
    word = np.cumsum(VOCABULARY.word_start[rows.tokens], axis=1)
    begin = 2 * np.arange(rows.tokens.shape[1]) + word  # a space before each word, none inside
    offsets = np.stack((begin, begin + 2), axis=-1)
    collator = DataCollatorForLanguageModeling(
        collator_tokenizer(),
        mlm_probability=0.15,
        whole_word_mask=True,
        mask_replace_prob=1,
        random_replace_prob=0,
        seed=0,
    )
    theirs = collator(
        [
            {"input_ids": torch.tensor(row), "offset_mapping": torch.tensor(offset)}
            for row, offset in zip(rows.tokens, offsets, strict=True)
        ]
    )
    their_chosen = theirs["labels"].numpy() != -100
    settings = TokenMasking(whole_word=True)
    chosen = token_masking(settings, rows, generator(), VOCABULARY).chosen
    for each in (chosen, their_chosen):
        assert not (each[:, 2:] != each[:, 1:-1])[continues(rows)].any(), "words are whole"
    text = rows.maskable
    assert abs(chosen[text].mean() - their_chosen[text].mean()) < 0.01


def continues(rows: Rows) -> np.ndarray:
    """[B, T - 2] bool: tokens from the third on that continue the word before them."""
    inside: np.ndarray = (~VOCABULARY.word_start[rows.tokens] & rows.maskable)[:, 2:]
    return inside
