"""Rows of made-up text, and a vocabulary, for the tests of the transforms."""

import numpy as np

from harness.pretraining.objectives.layout import Rows
from harness.pretraining.objectives.vocabulary import Vocabulary

VOCAB = 400
SPECIAL = 5
SENTINELS = 100
PAD, CLS, SEP, MASK, MODE = 0, 2, 3, 4, 299
NUMBERS = np.arange(VOCAB)


def make_vocabulary(sentinels: int = SENTINELS, words_of_one: bool = False) -> Vocabulary:
    """5 special tokens, words, a mode token and `sentinels` that count down from the end.

    Every third token continues a word, unless words are of one token each.
    """
    return Vocabulary(
        VOCAB,
        pad=PAD,
        cls=CLS,
        sep=SEP,
        mask=MASK,
        special=(NUMBERS < SPECIAL) | (NUMBERS >= MODE),
        word_start=(NUMBERS % 3 != 0) | words_of_one | (NUMBERS < SPECIAL) | (NUMBERS >= MODE),
        sentinels=NUMBERS[::-1][:sentinels],
        extra={"[NLU]": MODE},
    )


VOCABULARY = make_vocabulary()
WORDS = make_vocabulary(words_of_one=True)


def make_rows(lengths: list[list[int]], seed: int = 0, mode: bool = False) -> Rows:
    """Rows [CLS] text [SEP] text [SEP] with texts of these lengths; a row may have none.

    mode: whether a mode token follows [CLS].
    """
    rng = np.random.default_rng(seed)
    rows = []
    for texts in lengths:
        row = [CLS] + [MODE] * mode
        for text in texts:
            row += [*rng.integers(SPECIAL, MODE, text).tolist(), SEP]
        rows.append(row if texts else [*row, SEP])
    width = max(map(len, rows))
    tokens = np.array([row + [PAD] * (width - len(row)) for row in rows])
    maskable = (tokens >= SPECIAL) & (tokens < MODE)
    sentence_starts = maskable & (rng.random(tokens.shape) < 0.1)
    return Rows(
        *(tokens, np.zeros_like(tokens), maskable, np.array([*map(len, rows)]), sentence_starts),
        identifiers=identifiers_of(tokens, maskable),
    )


def identifiers_of(tokens: np.ndarray, maskable: np.ndarray) -> np.ndarray:
    """[B, T] numbers of made-up names: of every third token, which begins a word, with the tokens
    that continue the word."""
    found = np.full_like(tokens, -1)
    for row, column in zip(*np.nonzero(maskable & (tokens % 3 == 1)), strict=True):
        end = column + 1
        while end < tokens.shape[1] and maskable[row, end] and tokens[row, end] % 3 == 0:
            end += 1
        found[row, column:end] = hash(tuple(tokens[row, column:end].tolist())) % 2**40
    return found


def equal_rows(count: int, length: int) -> Rows:
    """`count` rows of one text of `length` tokens."""
    return make_rows([[length]] * count)


def text_of(rows: Rows, row: int) -> list[int]:
    """Tokens between the first special token and the last, separators included."""
    text: list[int] = rows.tokens[row, 1 : rows.lengths[row] - 1].tolist()
    return text


def real(tokens: np.ndarray, lengths: np.ndarray, row: int) -> list[int]:
    """A row without its padding, which must be padding."""
    assert (tokens[row, lengths[row] :] == PAD).all()
    kept: list[int] = tokens[row, : lengths[row]].tolist()
    return kept


def close(values: np.ndarray, expected: float, errors: float = 4) -> bool:
    """Whether a mean of independent values is within so many standard errors of the expected value.

    Rounding of the published figure is allowed for: half of its third digit.
    """
    error = float(values.std()) / np.sqrt(values.size)
    return abs(float(values.mean()) - expected) <= errors * error + 0.005 * abs(expected)
