"""Packing of the token stream into input sequences."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from harness.core.config import ConfigModel

if TYPE_CHECKING:
    from harness.data.corpora.token_stream import TokenStream

Format = Literal["segment_pair", "sentence_pair", "full_sentences", "doc_sentences"]
PAIR_FORMATS = ("segment_pair", "sentence_pair")
PairKind = Literal["nsp", "sop", "none", "contiguous"]


class Packing(ConfigModel):
    """One of the four input formats of RoBERTa, table 2 (Liu et al. 2019, section 4.2)."""

    format: Format = "full_sentences"
    """`segment_pair`: two segments of several sentences (BERT); `sentence_pair`: two sentences;
    `full_sentences`: contiguous sentences across documents, with a separator between documents;
    `doc_sentences`: contiguous sentences of one document."""
    short_seq_prob: float = Field(default=0.0, ge=0, le=1)
    """Share of the documents whose `segment_pair` sequences have a random shorter target length
    (BERT: 0.1)."""
    order: Literal["sequential"] | None = None
    """`sequential` reads the sequences in the order of the corpus in each epoch, for a curriculum
    (`corpus.sort_by`); null shuffles them."""
    pairs: Literal["contiguous"] | None = None
    """Pairs where no sentence-pair loss draws its own: `contiguous`, B follows A; null: NSP's, half
    of them random."""

    @model_validator(mode="after")
    def _has_pairs(self) -> Self:
        if self.pairs and self.format not in PAIR_FORMATS:
            raise ValueError(
                f"pairs = {self.pairs} needs format {' or '.join(PAIR_FORMATS)}, but it is "
                f"{self.format}"
            )
        return self


@dataclass(frozen=True)
class Sequences:
    """Input sequences as offsets into the tokens of a stream; arrays are [num_sequences] int64."""

    a_start: np.ndarray
    a_end: np.ndarray
    b_start: np.ndarray
    """Start of the second segment; equal to `b_end` if there is none."""
    b_end: np.ndarray
    label: np.ndarray
    """1 for a negative pair: B is from another document (nsp), or A and B are swapped (sop)."""

    def __len__(self) -> int:
        return len(self.a_start)

    def take(self, rows: np.ndarray | slice) -> "Sequences":
        """The sequences at `rows`: [num_rows] numbers, or a slice of them."""
        arrays = (self.a_start, self.a_end, self.b_start, self.b_end, self.label)
        return Sequences(*(array[rows] for array in arrays))


def concatenated(parts: Iterable[Sequences]) -> Sequences:
    """The sequences of all parts, in order."""
    arrays = ((one.a_start, one.a_end, one.b_start, one.b_end, one.label) for one in parts)
    return Sequences(*(np.concatenate(same) for same in zip(*arrays, strict=True)))


def pack(
    stream: "TokenStream",
    packing: Packing,
    sequence_length: int,
    pair: PairKind,
    rng: np.random.Generator,
    *,
    separators_between: int = 1,
) -> Sequences:
    """Sequences of at most `sequence_length` tokens that cover the stream in order.

    The pair formats follow google-research/bert `create_pretraining_data.py`. The other formats do
    not depend on `rng`, and split sentences that are longer than a sequence.

    Args:
        sequence_length: in tokens, special tokens included.
        pair: how pairs are drawn. "none" draws as "nsp": Liu et al. 2019 (section 4.2) suppose that
            BERT's ablation of the NSP loss kept its input format. "contiguous" draws as "sop", but
            swaps none.
        separators_between: special tokens between the segments of a pair.

    Raises:
        ValueError: no sequence fits, or "nsp" or "none" with a single document.
    """
    if packing.format in PAIR_FORMATS:
        room = sequence_length - 2 - separators_between
        sequences = _Pairs(stream, packing, room, Random(int(rng.integers(2**63)))).draw(pair)
        sequences = _truncate(sequences, room, rng)
    else:
        across = packing.format == "full_sentences"
        sequences = _pack_sentences(stream, sequence_length - 2, across)
    if not len(sequences):
        raise ValueError(
            f"{packing.format} with pair {pair} has no sequence in {stream.num_tokens} tokens: "
            "documents need at least two sentences"
        )
    return sequences


def _pack_sentences(stream: "TokenStream", room: int, across: bool) -> Sequences:
    """Greedy packing of whole sentences.

    The end of a document costs a separator (`across`) or ends the sequence.
    """
    starts, ends, documents = _pieces(stream, room)
    crossing = documents if across else documents * (room + 1)  # more than any sequence holds
    begin = (starts + crossing).tolist()
    finish = (ends + crossing).tolist()
    firsts, lasts, first = [], [], 0
    while first < len(begin):
        last = bisect_right(finish, begin[first] + room, first + 1)
        firsts.append(first)
        lasts.append(last - 1)
        first = last
    a_start, a_end = starts[firsts], ends[lasts]
    none = np.zeros_like(a_start)
    return Sequences(a_start, a_end, none, none, none)


def _pieces(stream: "TokenStream", room: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Start, end and document of each sentence; longer ones than `room` are split."""
    offsets = np.asarray(stream.sentences)
    sizes = np.diff(offsets)
    parts = np.maximum(1, -(-sizes // room))
    sentence = np.repeat(np.arange(len(sizes)), parts)
    part = np.arange(len(sentence)) - np.repeat(np.cumsum(parts) - parts, parts)
    starts = offsets[sentence] + part * room
    ends = np.minimum(starts + room, offsets[sentence + 1])
    return starts, ends, np.searchsorted(stream.documents, sentence, side="right")


class _Pairs:
    """Draws pairs of segments, document by document."""

    def __init__(self, stream: "TokenStream", packing: Packing, room: int, random: Random) -> None:
        self.offsets: list[int] = stream.sentences.tolist()
        self.documents: list[int] = stream.documents.tolist()
        self.single = packing.format == "sentence_pair"
        self.short_seq_prob = packing.short_seq_prob
        self.room = room
        self.random = random

    def draw(self, pair: str) -> Sequences:
        ordered = pair in ("sop", "contiguous")
        if not ordered and len(self.documents) < 3:
            raise ValueError(
                "random second segments come from another document, but the corpus has only one"
            )
        rows: list[tuple[int, int, int, int, int]] = []
        for document in range(len(self.documents) - 1):
            rows.extend(
                self._ordered(document, pair == "sop") if ordered else self._random(document)
            )
        return Sequences(*np.array(rows, dtype=np.int64).reshape(-1, 5).T)

    def _random(self, document: int) -> Iterator[tuple[int, int, int, int, int]]:
        """NSP: B follows A or is from another document; then the rest of the chunk is used again.

        Negative pairs are more than half, because a chunk of one sentence has no continuation.
        """
        offsets = self.offsets
        target = self._target()
        first, end = self.documents[document], self.documents[document + 1]
        while first < end:
            last = self._chunk_end(first, end, target)
            middle = self._split(first, last)
            if last - first > 1 and self.random.random() >= 0.5:
                yield offsets[first], offsets[middle], offsets[middle], offsets[last], 0
                first = last
            else:
                wanted = target - (offsets[middle] - offsets[first])
                start, stop = self._elsewhere(document, wanted)
                yield offsets[first], offsets[middle], start, stop, 1
                first = middle

    def _ordered(self, document: int, swap: bool) -> Iterator[tuple[int, int, int, int, int]]:
        """B follows A; for SOP (Lan et al. 2020, section 3.1), half of the pairs are swapped.

        A single last sentence is dropped.
        """
        offsets = self.offsets
        target = self._target()
        first, end = self.documents[document], self.documents[document + 1]
        while first < end - 1:
            last = max(first + 2, self._chunk_end(first, end, target))
            middle = self._split(first, last)
            a, b = (offsets[first], offsets[middle]), (offsets[middle], offsets[last])
            yield (*b, *a, 1) if swap and self.random.random() < 0.5 else (*a, *b, 0)
            first = last

    def _target(self) -> int:
        """Target length of the sequences of a document, in tokens."""
        if not self.single and self.random.random() < self.short_seq_prob:
            return self.random.randint(2, self.room)
        return self.room

    def _chunk_end(self, first: int, end: int, target: int) -> int:
        """End of a chunk of sentences: as few as reach the target, or two for sentence pairs."""
        if self.single:
            return min(first + 2, end)
        return bisect_left(self.offsets, self.offsets[first] + target, first + 1, end)

    def _split(self, first: int, last: int) -> int:
        return first + (self.random.randint(1, last - first - 1) if last - first > 1 else 1)

    def _elsewhere(self, document: int, wanted: int) -> tuple[int, int]:
        """Start and end of `wanted` or more tokens from a random sentence of another document."""
        other = self.random.randrange(len(self.documents) - 2)
        other += other >= document
        end = self.documents[other + 1]
        first = self.random.randrange(self.documents[other], end)
        if self.single:
            return self.offsets[first], self.offsets[first + 1]
        last = bisect_left(self.offsets, self.offsets[first] + wanted, first + 1, end)
        return self.offsets[first], self.offsets[last]


def _truncate(sequences: Sequences, room: int, rng: np.random.Generator) -> Sequences:
    """Pairs truncated to `room` tokens: the longer segment loses tokens at a random end.

    A closed form of BERT's `truncate_seq_pair`, which removes one token at a time.
    """
    a = sequences.a_end - sequences.a_start
    b = sequences.b_end - sequences.b_start
    excess = np.maximum(0, a + b - room)
    from_a = np.clip(a - b, 0, excess)  # until the lengths are equal,
    from_b = np.clip(b - a, 0, excess)
    rest = excess - from_a - from_b  # then alternately, B first
    from_a = from_a + rest // 2
    from_b = from_b + rest - rest // 2
    front_a, front_b = rng.binomial(from_a, 0.5), rng.binomial(from_b, 0.5)
    return Sequences(
        sequences.a_start + front_a,
        sequences.a_end - (from_a - front_a),
        sequences.b_start + front_b,
        sequences.b_end - (from_b - front_b),
        sequences.label,
    )
