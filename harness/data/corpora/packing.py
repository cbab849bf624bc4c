"""How the token stream is cut into input sequences."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Literal

import numpy as np
from pydantic import Field

from harness.core.config import ConfigModel

if TYPE_CHECKING:
    from harness.data.corpora.token_stream import TokenStream

Format = Literal["segment_pair", "sentence_pair", "full_sentences", "doc_sentences"]
PAIR_FORMATS = ("segment_pair", "sentence_pair")


class Packing(ConfigModel):
    """One of the four input formats of RoBERTa's Table 2 (Liu et al. 2019, section 4.2)."""

    format: Format = "full_sentences"
    """`segment_pair`: two segments of several sentences each (BERT); `sentence_pair`: two single
    sentences; `full_sentences`: contiguous sentences, across documents, with a separator between
    documents; `doc_sentences`: the same without crossing a document."""
    short_seq_prob: float = Field(default=0.0, ge=0, le=1)
    """Share of the documents whose `segment_pair` sequences aim at a random shorter length (BERT:
    0.1)."""


@dataclass(frozen=True)
class Sequences:
    """Input sequences as offsets into the stream's tokens, each array [num_sequences] int64."""

    a_start: np.ndarray
    a_end: np.ndarray
    b_start: np.ndarray
    """Where the second segment starts; equal to `b_end` where there is none."""
    b_end: np.ndarray
    label: np.ndarray
    """1 for a negative pair: B from another document (nsp), or A and B swapped (sop)."""

    def __len__(self) -> int:
        return len(self.a_start)

    def take(self, rows: np.ndarray | slice) -> "Sequences":
        """Some of the sequences."""
        return Sequences(
            self.a_start[rows],
            self.a_end[rows],
            self.b_start[rows],
            self.b_end[rows],
            self.label[rows],
        )


def pack(
    stream: "TokenStream",
    packing: Packing,
    sequence_length: int,
    pair: Literal["nsp", "sop", "none"],
    rng: np.random.Generator,
    *,
    separators_between: int = 1,
) -> Sequences:
    """Cuts the whole stream into sequences of at most `sequence_length` tokens, in its order.

    The pair formats follow google-research/bert `create_pretraining_data.py`; `pair` decides how
    they are drawn, "none" as "nsp": Liu et al. 2019 (section 4.2) suppose that BERT's ablation of
    the NSP loss kept its input format. The other formats are the same for every `rng`, and cut
    sentences that are longer than a sequence.

    Args:
        separators_between: special tokens between the segments of a pair.

    Raises:
        ValueError: random second segments need a second document; or no sequence comes out.
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
            f"{packing.format} with pair {pair} found no sequence in {stream.num_tokens} tokens; "
            "documents need at least two sentences"
        )
    return sequences


def _pack_sentences(stream: "TokenStream", room: int, across: bool) -> Sequences:
    """As many whole sentences as fit, greedily; a document's end costs a separator, or is final."""
    starts, ends, documents = _pieces(stream, room)
    crossing = documents if across else documents * (room + 1)  # a price that none can pay
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
    """Start, end and document of each sentence, those above `room` tokens cut into pieces of it."""
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
        if pair != "sop" and len(self.documents) < 3:
            raise ValueError(
                "random second segments come from another document, but the text has only one"
            )
        rows: list[tuple[int, int, int, int, int]] = []
        for document in range(len(self.documents) - 1):
            rows.extend(self._ordered(document) if pair == "sop" else self._random(document))
        a_start, a_end, b_start, b_end, label = np.array(rows, dtype=np.int64).reshape(-1, 5).T
        return Sequences(a_start, a_end, b_start, b_end, label)

    def _random(self, document: int) -> Iterator[tuple[int, int, int, int, int]]:
        """NSP: B follows A, or comes from another document, and the rest of the chunk is put back.

        The latter happens more than half of the time: in a chunk of one sentence nothing follows.
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

    def _ordered(self, document: int) -> Iterator[tuple[int, int, int, int, int]]:
        """SOP (Lan et al. 2020, section 3.1): B follows A, and half of the time they are swapped.
        A last sentence alone has no order and is left out."""
        offsets = self.offsets
        target = self._target()
        first, end = self.documents[document], self.documents[document + 1]
        while first < end - 1:
            last = max(first + 2, self._chunk_end(first, end, target))
            middle = self._split(first, last)
            a, b = (offsets[first], offsets[middle]), (offsets[middle], offsets[last])
            yield (*b, *a, 1) if self.random.random() < 0.5 else (*a, *b, 0)
            first = last

    def _target(self) -> int:
        """Tokens that the sequences of a document aim at."""
        if not self.single and self.random.random() < self.short_seq_prob:
            return self.random.randint(2, self.room)
        return self.room

    def _chunk_end(self, first: int, end: int, target: int) -> int:
        """Sentences first..: as few as reach the target, or two for pairs of single sentences."""
        if self.single:
            return min(first + 2, end)
        return bisect_left(self.offsets, self.offsets[first] + target, first + 1, end)

    def _split(self, first: int, last: int) -> int:
        return first + (self.random.randint(1, last - first - 1) if last - first > 1 else 1)

    def _elsewhere(self, document: int, wanted: int) -> tuple[int, int]:
        """Tokens from a random sentence of another document on, until there are `wanted`."""
        other = self.random.randrange(len(self.documents) - 2)
        other += other >= document
        end = self.documents[other + 1]
        first = self.random.randrange(self.documents[other], end)
        if self.single:
            return self.offsets[first], self.offsets[first + 1]
        last = bisect_left(self.offsets, self.offsets[first] + wanted, first + 1, end)
        return self.offsets[first], self.offsets[last]


def _truncate(sequences: Sequences, room: int, rng: np.random.Generator) -> Sequences:
    """Shortens pairs to `room` tokens: always the longer segment, at its front or back at random.

    In closed form what BERT's `truncate_seq_pair` does token by token.
    """
    a = sequences.a_end - sequences.a_start
    b = sequences.b_end - sequences.b_start
    excess = np.maximum(0, a + b - room)
    from_a = np.clip(a - b, 0, excess)  # until both are equally long,
    from_b = np.clip(b - a, 0, excess)
    rest = excess - from_a - from_b  # then in turn, B first
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
