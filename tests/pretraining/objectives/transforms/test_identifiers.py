"""Masked identifiers: by hand, and that source and target give back any program."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.pretraining.objectives.layout import Rows
from harness.pretraining.objectives.transforms import apply_transform
from harness.pretraining.objectives.transforms.identifiers import MaskedIdentifiers
from harness.pretraining.objectives.transforms.transform import TransformResult
from harness.pretraining.objectives.vocabulary import Vocabulary
from tests.pretraining.objectives.transforms.texts import (
    CLS,
    MODE,
    PAD,
    SEP,
    VOCABULARY,
    make_vocabulary,
    real,
)

S0, S1, S2, S3 = VOCABULARY.sentinels[:4].tolist()
PLUS, DOT, IF = 8, 11, 14
"""Tokens that are no name."""
COUNT, SUM, OF, X = 10, 13, 15, 16
"""Tokens of the names `count`, `sumof`, which is of two tokens, and `x`."""


def rows_of(*rows: list[tuple[int, int]], length: int | None = None) -> Rows:
    """Rows [CLS] text [SEP] of (token, number of its identifier)."""
    width = 2 + max(map(len, rows))
    tokens = np.array(
        [[CLS, *(t for t, _ in row), SEP, *[PAD] * (width - 2 - len(row))] for row in rows]
    )
    numbers = np.array([[-1, *(n for _, n in row), *[-1] * (width - 1 - len(row))] for row in rows])
    lengths = np.array([length or 2 + len(row) for row in rows])
    maskable = (np.arange(width) > 0) & (np.arange(width) < lengths[:, None] - 1)
    nothing = np.zeros_like(tokens)
    return Rows(tokens, nothing, maskable, lengths, nothing > 0, identifiers=numbers)


def masked(rows: Rows, vocabulary: Vocabulary = VOCABULARY, seed: int = 0) -> TransformResult:
    return apply_transform(MaskedIdentifiers(), rows, np.random.default_rng(seed), vocabulary)


def texts(result: TransformResult) -> list[tuple[list[int], list[int]]]:
    """(source, dropped) of each row."""
    assert result.dropped is not None
    return [
        (real(result.inputs, result.lengths, row), real(*result.dropped, row))
        for row in range(len(result.inputs))
    ]


SUMOF = [(SUM, 4), (OF, 4)]
PROGRAM = [*SUMOF, (PLUS, -1), (COUNT, 9), (IF, -1), *SUMOF, (DOT, -1), (COUNT, 9), (X, 1)]
"""sumof + count if sumof . count x"""


def test_each_name_has_one_sentinel() -> None:
    result = masked(rows_of(PROGRAM, [(PLUS, -1)]))
    assert texts(result) == [
        (
            [CLS, S0, PLUS, S1, IF, S0, DOT, S1, S2, SEP],
            [S0, SUM, OF, S1, COUNT, S2, X, S3],
        ),
        ([CLS, PLUS, SEP], [S0]),
    ]
    assert result.chosen[0].astype(int).tolist() == [0, 1, 1, 0, 1, 0, 1, 1, 0, 1, 1, 0]


def test_adjacent_occurrences_of_a_name_are_two() -> None:
    (one,) = texts(masked(rows_of([(X, 1), (X, 1), *SUMOF, *SUMOF, (PLUS, -1)])))
    assert one == ([CLS, S0, S0, S1, S1, PLUS, SEP], [S0, X, S1, SUM, OF, S2])


def test_further_names_stay_when_sentinels_are_used_up() -> None:
    (one,) = texts(masked(rows_of(PROGRAM), make_vocabulary(sentinels=2)))
    assert one == (
        [CLS, S0, PLUS, COUNT, IF, S0, DOT, COUNT, X, SEP],
        [S0, SUM, OF, S1],
    )


@pytest.mark.parametrize(("names", "masked_names"), [(3, 1), (5, 2), (30, 15)])
def test_a_target_is_at_most_as_long_as_the_row(names: int, masked_names: int) -> None:
    """A name costs two tokens; one more sentinel and the end token follow."""
    rows = rows_of([(X + 3 * number, number) for number in range(names)])
    ((source, dropped),) = texts(masked(rows))
    assert dropped[0::2] == VOCABULARY.sentinels[: masked_names + 1].tolist()
    assert len(dropped) + 1 <= rows.lengths[0] < len(dropped) + 3
    assert source[1 : 1 + masked_names] == dropped[:-1:2]


def test_mode_tokens_and_separators_stay() -> None:
    rows = rows_of([(MODE, -1), (X, 1), (SEP, -1), (X, 1)])
    rows.maskable[0, [1, 3]] = False
    assert texts(masked(rows)) == [([CLS, MODE, S0, SEP, S0, SEP], [S0, X, S1])]


tokens_with_numbers = st.lists(
    st.sampled_from([[(PLUS, -1)], [(DOT, -1)], [(COUNT, 9)], SUMOF, [(X, 1)], [(COUNT, 2)]])
).map(lambda parts: [token for part in parts for token in part])


@given(st.lists(tokens_with_numbers, min_size=1, max_size=4), st.sampled_from([2, 3, 100]))
def test_source_and_target_give_the_text_back(
    programs: list[list[tuple[int, int]]], sentinels: int
) -> None:
    vocabulary = make_vocabulary(sentinels)
    rows = rows_of(*programs)
    result = masked(rows, vocabulary, seed=0)
    again = masked(rows, vocabulary, seed=1)
    assert texts(result) == texts(again), "nothing is drawn"
    for number, (source, dropped) in enumerate(texts(result)):
        at = [place for place, token in enumerate(dropped) if token in vocabulary.sentinels]
        edges = zip(at, [*at[1:], len(dropped)], strict=True)
        spans = {dropped[start]: dropped[start + 1 : end] for start, end in edges}
        assert list(spans) == vocabulary.sentinels[: len(spans)].tolist(), "each once, in order"
        text = [token for one in source for token in spans.get(one, [one])]
        assert text == real(rows.tokens, rows.lengths, number)
        hidden = result.chosen[number]
        assert rows.identifiers is not None
        kept = set(rows.identifiers[number, ~hidden].tolist()) - {-1}
        assert not kept & set(rows.identifiers[number, hidden].tolist()), "all occurrences or none"
        assert not kept or len(spans) == sentinels or len(dropped) + 2 >= rows.lengths[number] - 1


def test_without_sentinels_or_identifiers() -> None:
    rows = rows_of(PROGRAM)
    with pytest.raises(ValueError, match=r"masked_identifiers needs tokenizer.sentinels"):
        masked(rows, make_vocabulary(sentinels=0))
    with pytest.raises(ValueError, match=r"masked_identifiers needs rows with identifiers"):
        masked(replace(rows, identifiers=None))
