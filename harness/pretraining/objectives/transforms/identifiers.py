"""Masked identifiers: each name of a program becomes a sentinel, wherever it stands.

Shapes: B rows, T positions, S of the source, U of the dropped text. With sentinels x, y, z in the
order of use, and two names, 8 9 and 7:

    tokens    [CLS] 8 9 10 7 11 8 9 [SEP]
    source    [CLS] x 10 y 11 x [SEP]
    dropped   x 8 9 y 7 z
"""

from typing import Literal, NamedTuple

import numpy as np

from harness.pretraining.objectives.layout import Rows
from harness.pretraining.objectives.transforms.array_ops import filled, packed
from harness.pretraining.objectives.transforms.transform import Transform, TransformResult
from harness.pretraining.objectives.vocabulary import Vocabulary


class MaskedIdentifiers(Transform):
    """All identifiers of Python text, one sentinel for all occurrences of a name (Wang et al. 2021,
    section 3.2)."""

    kind: Literal["masked_identifiers"] = "masked_identifiers"

    @property
    def gap_filler(self) -> str:
        """A sentinel, as in span corruption."""
        return "sentinel"


class Occurrences(NamedTuple):
    """The identifiers of a row: N occurrences of M names."""

    starts: np.ndarray
    """[N] column of the first token of each."""
    sizes: np.ndarray
    """[N] tokens of each."""
    rank: np.ndarray
    """[N] place of its name in the order of first occurrences."""
    first: np.ndarray
    """[M] the first occurrence of each name, ascending."""


def masked_identifiers(
    settings: MaskedIdentifiers, rows: Rows, rng: np.random.Generator, vocabulary: Vocabulary
) -> TransformResult:
    """Rows [B, T] with a sentinel for each identifier; the dropped text has the sentinels in order,
    each followed by its name as it stands first, and one more at the end, as in span corruption.

    Names for which there are too few sentinels, or after which the target would be longer than the
    row, stay in the text.

    Raises:
        ValueError: the vocabulary has no sentinels, or the rows were made without identifiers.
    """
    if not len(vocabulary.sentinels):
        raise ValueError("masked_identifiers needs tokenizer.sentinels, but there are 0")
    if rows.identifiers is None:
        raise ValueError("masked_identifiers needs rows with identifiers, but they have none")
    starts = identifier_starts(rows, vocabulary)
    source, chosen = rows.tokens.copy(), np.zeros_like(rows.maskable)
    dropped = []
    for row, tokens in enumerate(rows.tokens):
        found = occurrences(rows.identifiers[row], starts[row])
        names = _with_room(found, int(rows.lengths[row]), vocabulary)
        masked = found.rank < names
        source[row, found.starts[masked]] = vocabulary.sentinels[found.rank[masked]]
        chosen[row, rows.identifiers[row] >= 0] = np.repeat(masked, found.sizes)
        dropped.append(_target(tokens, found, names, vocabulary))
    kept = filled(rows.lengths, source.shape[1]) & (~chosen | starts)
    text, lengths = packed(source, kept, vocabulary.pad)
    return TransformResult(
        text, lengths, chosen, aligned=False, dropped=_padded(dropped, vocabulary.pad)
    )


def identifier_starts(rows: Rows, vocabulary: Vocabulary) -> np.ndarray:
    """[B, T] bool: the first token of each occurrence of an identifier."""
    assert rows.identifiers is not None
    other = np.ones_like(rows.maskable)
    other[:, 1:] = rows.identifiers[:, 1:] != rows.identifiers[:, :-1]
    words = vocabulary.word_starts(rows.tokens, rows.maskable)
    starts: np.ndarray = (rows.identifiers >= 0) & (other | words)
    return starts


def occurrences(identifiers: np.ndarray, starts: np.ndarray) -> Occurrences:
    """The occurrences in a row with these identifiers [T] and starts [T]."""
    columns = np.flatnonzero(starts)
    sizes = np.bincount(np.cumsum(starts)[identifiers >= 0] - 1, minlength=len(columns))
    _, first, name = np.unique(identifiers[columns], return_index=True, return_inverse=True)
    place = np.empty_like(first)
    place[np.argsort(first)] = np.arange(len(first))
    return Occurrences(columns, sizes, place[name], np.sort(first))


def _with_room(found: Occurrences, length: int, vocabulary: Vocabulary) -> int:
    """How many names of a row of `length` tokens are masked: a sentinel follows the last one, and
    then the end token."""
    ends = np.cumsum(1 + found.sizes[found.first]) + 2
    return min(int(np.searchsorted(ends, length, side="right")), len(vocabulary.sentinels) - 1)


def _target(
    tokens: np.ndarray, found: Occurrences, names: int, vocabulary: Vocabulary
) -> list[int]:
    """The dropped text of a row with these tokens [T]."""
    target: list[int] = []
    for sentinel, number in zip(vocabulary.sentinels, found.first[:names], strict=False):
        start = found.starts[number]
        target += [int(sentinel), *tokens[start : start + found.sizes[number]].tolist()]
    return [*target, int(vocabulary.sentinels[names])]


def _padded(texts: list[list[int]], pad: int) -> tuple[np.ndarray, np.ndarray]:
    """[B, U] texts, and [B] their lengths."""
    lengths = np.array([len(text) for text in texts])
    result = np.full((len(texts), int(lengths.max(initial=0))), pad)
    result[filled(lengths, result.shape[1])] = [token for text in texts for token in text]
    return result, lengths
