"""Rows cut into sentences, by hand."""

import numpy as np
import pytest

from harness.data.corpora.packing import Packing, pack
from harness.data.corpora.token_stream import TokenStream
from harness.pretraining.objectives import OBJECTIVES
from harness.pretraining.objectives.layout import Rows
from harness.pretraining.objectives.sentences import check_neighbours, sentences_of
from harness.pretraining.objectives.targets import Batch, assemble
from harness.pretraining.objectives.transforms import apply_transform
from tests.pretraining.objectives.transforms.texts import CLS, PAD, SEP, WORDS

OBJECTIVE = OBJECTIVES["skip_thought"].components[0][1]
START = 1


def rows_of(*rows: str) -> Rows:
    """Rows of numbers: `|` begins a sentence, `/` ends a document, so that a separator follows."""
    parsed = []
    for row in rows:
        tokens, starts = [CLS], [False]
        begins = False
        for mark in row.split():
            if mark in "|/":
                begins = True
            if mark == "/":
                tokens, starts = [*tokens, SEP], [*starts, False]
            if mark not in "|/":
                tokens, starts, begins = [*tokens, int(mark)], [*starts, begins], False
        parsed.append(([*tokens, SEP], [*starts, False]))
    width = max(len(tokens) for tokens, _ in parsed)
    ids = np.array([tokens + [PAD] * (width - len(tokens)) for tokens, _ in parsed])
    starts_of = np.array([starts + [False] * (width - len(starts)) for _, starts in parsed])
    lengths = np.array([len(tokens) for tokens, _ in parsed])
    return Rows(ids, np.zeros_like(ids), ids > 4, lengths, starts_of)


def batch_of(*rows: str) -> Batch:
    made = rows_of(*rows)
    same = apply_transform(OBJECTIVE.transform, made, np.random.default_rng(0), WORDS)
    return assemble(made, same, OBJECTIVE, None, WORDS, START)


def texts(ids: np.ndarray) -> list[list[int]]:
    return [[int(token) for token in row if token != PAD] for row in ids]


def predicted(batch: Batch, prefix: str = "") -> dict[int, list[tuple[int, int]]]:
    """Row to the (input, target) of each of its predictions."""
    ids = batch["previous_input_ids" if prefix else "decoder_input_ids"]
    found: dict[int, list[tuple[int, int]]] = {}
    pairs = zip(batch[f"{prefix}positions"], batch[f"{prefix}targets"], strict=True)
    for position, target in pairs:
        read = int(ids.reshape(-1)[position])
        found.setdefault(int(position) // ids.shape[1], []).append((read, int(target)))
    return found


def test_each_sentence_has_the_one_after_and_the_one_before() -> None:
    batch = batch_of("| 5 6 | 7 | 8 9 10", "| 11 | 12 13")
    assert texts(batch["input_ids"]) == [
        [CLS, 5, 6, SEP], [CLS, 7, SEP], [CLS, 8, 9, 10, SEP], [CLS, 11, SEP], [CLS, 12, 13, SEP]
    ]  # fmt: skip
    assert predicted(batch) == {
        0: [(START, 7), (7, SEP)],
        1: [(START, 8), (8, 9), (9, 10), (10, SEP)],
        3: [(START, 12), (12, 13), (13, SEP)],
    }
    assert predicted(batch, "previous_") == {
        1: [(START, 5), (5, 6), (6, SEP)],
        2: [(START, 7), (7, SEP)],
        4: [(START, 11), (11, SEP)],
    }


def test_sentences_of_two_documents_are_no_neighbours() -> None:
    batch = batch_of("| 5 | 6 / 7 | 8")
    assert sorted(predicted(batch)) == [0, 2]
    assert sorted(predicted(batch, "previous_")) == [1, 3]


def test_a_row_may_begin_and_end_within_a_sentence() -> None:
    batch = batch_of("5 6 | 7 8")
    assert texts(batch["input_ids"]) == [[CLS, 5, 6, SEP], [CLS, 7, 8, SEP]]
    assert predicted(batch) == {0: [(START, 7), (7, 8), (8, SEP)]}


def test_a_single_sentence_predicts_nothing() -> None:
    batch = batch_of("| 5 6", "| 7")
    assert texts(batch["input_ids"]) == [[CLS, 5, 6, SEP], [CLS, 7, SEP]]
    for name in ("targets", "positions", "previous_targets", "previous_positions"):
        assert batch[name].size == 0


@pytest.mark.parametrize("rows", [("| 5 6 | 7 / 8 9", "10 | 11"), ("| 5",), ("5 / 6 / 7",)])
def test_tokens_are_counted_as_those_of_the_rows(rows: tuple[str, ...]) -> None:
    made = rows_of(*rows)
    sentences = sentences_of(made, WORDS)
    assert sentences.num_tokens.sum() == made.lengths.sum()
    assert (sentences.num_tokens > sentences.lengths).any()
    assert sentences.lengths.sum() == made.maskable.sum()


def test_text_without_neighbours_is_refused() -> None:
    """Documents of one sentence, or sequences that hold no two."""
    tokens, ends = np.arange(40, dtype=np.uint16) + 5, np.arange(0, 41, 10)
    single, whole = (TokenStream(tokens, ends, np.array(of)) for of in (range(5), (0, 4)))

    def check(stream: TokenStream, length: int) -> None:
        packing = Packing(format="doc_sentences")
        sequences = pack(stream, packing, length, "none", np.random.default_rng(0))
        check_neighbours(stream, sequences)

    check(whole, 22)
    for stream, length in ((single, 22), (whole, 21)):
        with pytest.raises(ValueError, match="at least two sentences, but none of 4 has two"):
            check(stream, length)
