"""From sequences of the token stream to padded rows with special tokens.

Shapes: B sequences, T positions. A pair of segments [5, 6] and [7] for BERT, and one segment [5, 6]
that continues in the next document with [7]:

    [CLS] 5 6 [SEP] 7 [SEP]     types 0 0 0 0 1 1
    [CLS] 5 6 [SEP] 7 [SEP]     types 0 0 0 0 0 0
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from harness.data.corpora.packing import Sequences
from harness.pretraining.objectives.identifiers import StreamIdentifiers
from harness.pretraining.objectives.vocabulary import Vocabulary

if TYPE_CHECKING:
    from harness.data.corpora.token_stream import TokenStream

PAD_MULTIPLE = 8
"""Rows are padded to a multiple of this length, which is faster on tensor cores."""


def padded_width(width: int) -> int:
    """The next multiple of PAD_MULTIPLE."""
    return -(-width // PAD_MULTIPLE) * PAD_MULTIPLE


@dataclass(frozen=True)
class Rows:
    """Input sequences with special tokens, before the transform.

    Shapes: B rows, T positions. A transform may not change them: the targets are read from them.
    """

    tokens: np.ndarray
    """[B, T] int64."""
    types: np.ndarray
    """[B, T] int64 segment numbers."""
    maskable: np.ndarray
    """[B, T] bool: tokens of the text."""
    lengths: np.ndarray
    """[B] tokens without padding."""
    sentence_starts: np.ndarray
    """[B, T] bool: first token of each sentence of the text."""
    first_segment: np.ndarray | None = None
    """[B] tokens of the first segment with its special tokens, all of a row without a second; None
    if no row has a second."""
    identifiers: np.ndarray | None = None
    """[B, T] int64 number of the identifier that a token is part of, -1 elsewhere; None unless they
    were sought."""

    @property
    def source_lengths(self) -> np.ndarray:
        """[B] tokens of the source under a prefix mask: the first segment with its special tokens
        (Dong et al. 2019, section 2.3), or the first half of a row without a second."""
        first = self.lengths if self.first_segment is None else self.first_segment
        return np.where(first < self.lengths, first, self.lengths // 2)

    def words(self, vocabulary: Vocabulary) -> np.ndarray:
        """[B, T] bool: the tokens of the text but unknown words, which word2vec leaves out
        (word2vec.c, `TrainModelThread`)."""
        known: np.ndarray = self.maskable & ~vocabulary.special[self.tokens]
        return known

    def alone(self, row: int) -> "Rows":
        """One row without its padding, [1, length]."""
        one, real = slice(row, row + 1), slice(0, int(self.lengths[row]))
        return Rows(
            self.tokens[one, real],
            self.types[one, real],
            self.maskable[one, real],
            self.lengths[one],
            self.sentence_starts[one, real],
            None if self.first_segment is None else self.first_segment[one],
            None if self.identifiers is None else self.identifiers[one, real],
        )


@contextmanager
def read_only(rows: Rows) -> Iterator[None]:
    """Makes writing to the arrays of rows [B, T] an error (ValueError) within the block."""
    found = [array for array in vars(rows).values() if array is not None]
    arrays = [array for array in found if array.flags.writeable]
    for array in arrays:
        array.flags.writeable = False
    try:
        yield
    finally:
        for array in arrays:
            array.flags.writeable = True


class Layout:
    """Lays out sequences of one stream with one tokenizer's special tokens.

    Args:
        with_identifiers: whether rows have the identifiers of their text.
    """

    def __init__(
        self, stream: "TokenStream", vocabulary: Vocabulary, *, with_identifiers: bool = False
    ) -> None:
        self.stream = stream
        self.vocabulary = vocabulary
        self.identifiers = StreamIdentifiers(stream, vocabulary) if with_identifiers else None
        self.document_starts = np.asarray(stream.sentences)[np.asarray(stream.documents)]

    def lengths(self, sequences: Sequences) -> np.ndarray:
        """[B] tokens of each sequence, special tokens included."""
        crossed = self._documents_before(sequences.a_end - 1)
        crossed -= self._documents_before(sequences.a_start)
        second = sequences.b_end - sequences.b_start
        specials = 2 + crossed + self.vocabulary.separators_between * (second > 0)
        return sequences.a_end - sequences.a_start + second + specials

    def rows(self, sequences: Sequences) -> Rows:
        """The sequences as rows [num_sequences, width], padded to the longest."""
        lengths = self.lengths(sequences)
        width = padded_width(int(lengths.max()))
        column = np.arange(width)
        real = column < lengths[:, None]
        # All positions that are not text hold separators, except the first.
        tokens = np.where(real, self.vocabulary.sep, self.vocabulary.pad)
        tokens[:, 0] = self.vocabulary.cls
        maskable, sentence_starts = np.zeros_like(real), np.zeros_like(real)
        identifiers = np.full_like(tokens, -1) if self.identifiers else None
        second = sequences.b_end - sequences.b_start
        b_column = lengths - 1 - second
        a_column = np.ones_like(lengths)
        for start, end, where in (
            (sequences.a_start, sequences.a_end, a_column),
            (sequences.b_start, sequences.b_end, b_column),
        ):
            row, target, source = self._places(start, end, where)
            tokens[row, target] = self.stream.tokens[source]
            maskable[row, target] = True
            sentence_starts[row, target] = self._starts_sentence(source)
            if self.identifiers and identifiers is not None:
                identifiers[row, target] = self.identifiers.at(source)
        in_second = real & (column >= b_column[:, None]) & (second > 0)[:, None]
        types = in_second * self.vocabulary.second_type
        first_segment = np.where(second > 0, b_column, lengths)
        return Rows(tokens, types, maskable, lengths, sentence_starts, first_segment, identifiers)

    def _places(
        self, start: np.ndarray, end: np.ndarray, column: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Row, column and stream offset of each token of start:end [B].

        Rows start at `column` [B] and leave a gap between documents.
        """
        sizes = end - start
        row = np.repeat(np.arange(len(start)), sizes)
        within = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        source = start[row] + within
        crossed = self._documents_before(source) - self._documents_before(start)[row]
        return row, column[row] + within + crossed, source

    def _starts_sentence(self, offsets: np.ndarray) -> np.ndarray:
        sentences = np.asarray(self.stream.sentences)
        found: np.ndarray = sentences[np.searchsorted(sentences, offsets)] == offsets
        return found

    def _documents_before(self, offsets: np.ndarray) -> np.ndarray:
        """Documents that start at or before each offset."""
        return np.searchsorted(self.document_starts, offsets, side="right")
