"""Rows cut into their sentences, and which of them are neighbours.

Shapes: B rows, T positions, N sentences of all rows, S positions of the longest sentence.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from harness.data.corpora.packing import Sequences
from harness.pretraining.objectives.layout import Rows, padded_width
from harness.pretraining.objectives.transforms.array_ops import filled
from harness.pretraining.objectives.vocabulary import Vocabulary

if TYPE_CHECKING:
    from harness.data.corpora.token_stream import TokenStream


def check_neighbours(stream: "TokenStream", sequences: Sequences) -> None:
    """Checks that sequences of a stream have neighbouring sentences.

    Raises:
        ValueError: no first segment has a second sentence.
    """
    starts = np.asarray(stream.sentences)
    before_end = np.searchsorted(starts, sequences.a_end)
    if not (before_end > np.searchsorted(starts, sequences.a_start, side="right")).any():
        raise ValueError(
            "the output neighbour_sentences needs sequences of at least two sentences, but none of "
            f"{len(sequences)} has two; raise phases.sequence_length, or give documents of several "
            "sentences"
        )


@dataclass(frozen=True)
class Sentences:
    """The sentences of rows, in their order."""

    tokens: np.ndarray
    """[N, S] int64: each sentence without special tokens, padded."""
    lengths: np.ndarray
    """[N] tokens of each sentence."""
    follows: np.ndarray
    """[N] bool: whether a sentence continues the text of the one before it in the same row."""
    num_tokens: np.ndarray
    """[N] tokens of the row from a sentence to the next one, special tokens included; their sum is
    that of `Rows.lengths`."""

    def neighbours(self, offset: int) -> tuple[np.ndarray, np.ndarray]:
        """[N, S] tokens of the sentence after each one (`offset` 1) or before it (-1), and [N]
        their lengths, 0 where there is none."""
        there = np.roll(self.follows, -1) if offset == 1 else self.follows
        lengths = np.where(there, np.roll(self.lengths, -offset), 0)
        return np.roll(self.tokens, -offset, axis=0), lengths


def sentences_of(rows: Rows, vocabulary: Vocabulary) -> Sentences:
    """The sentences of rows [B, T].

    A text begins a sentence where it begins in a row, also if that is within one. Sentences with a
    special token between them, such as the separator of two documents, are no neighbours.
    """
    text = rows.maskable
    before, after = np.zeros_like(text), np.zeros_like(text)
    before[:, 1:], after[:, :-1] = text[:, :-1], text[:, 1:]
    begins = text & (rows.sentence_starts | ~before)
    next_begins = np.zeros_like(text)
    next_begins[:, :-1] = begins[:, 1:]
    row, start = np.nonzero(begins)
    end = np.nonzero(text & (next_begins | ~after))[1] + 1
    is_first = np.r_[True, row[1:] != row[:-1]]
    lengths = end - start
    column = np.arange(padded_width(int(lengths.max())))
    source = np.minimum(start[:, None] + column, text.shape[1] - 1)
    inside = filled(lengths, len(column))
    tokens = np.where(inside, rows.tokens[row[:, None], source], vocabulary.pad)
    first = np.where(is_first, 0, start)
    last = np.where(np.roll(is_first, -1), rows.lengths[row], np.roll(start, -1))
    follows = ~is_first & (start == np.roll(end, 1))
    return Sentences(tokens, lengths, follows, last - first)
