"""What the network of an objective reads and predicts, on sentences of the micro-world or
lines of Python."""

from collections.abc import Iterator
from functools import cache
from itertools import chain, islice

import numpy as np

from harness.core.config import unknown_name
from harness.data.corpora.load_corpus import read_documents
from harness.data.corpora.packing import Packing
from harness.data.corpora.sources import MicroworldCorpus
from harness.data.corpora.token_stream import TokenStream
from harness.pretraining.budget import Phase
from harness.pretraining.objectives import OBJECTIVES
from harness.pretraining.objectives.batches import BatchMaker
from harness.pretraining.objectives.objective import AnyObjective, parts_of
from harness.pretraining.objectives.shown_batch import ShownRow, shown_rows
from harness.pretraining.objectives.vocabulary import Vocabulary

LENGTH = 28
"""Tokens of a row."""
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
NUM_SENTINELS = 20
MAX_STEPS = 1_000
CORPUS = MicroworldCorpus(num_tokens=2_000)
CODE = (
    "def mean ( values ) :",
    "total = sum ( values )",
    "return total / len ( values )",
    "def update ( table , default ) :",
    "for key , value in table . items ( ) :",
    "if value is None : # missing",
    "table . set ( key , default )",
    "return table",
)
"""Lines of Python, for objectives that read identifiers."""
Documents = list[list[list[str]]]
"""The words of each sentence of each document; marks are words."""


def objective_rows(name: str, number: int) -> list[dict[str, str]]:
    """Sequences with `text`, `input` unless it is the text, and `target`, as words; of a mixture,
    those of each component in turn.

    Args:
        name: in OBJECTIVES.

    Raises:
        ValueError: no such objective.
    """
    if name not in OBJECTIVES:
        raise ValueError(unknown_name("the objective", name, OBJECTIVES))
    return [_plain(row) for row in islice(example_rows(OBJECTIVES[name]), number)]


def example_rows(objective: AnyObjective) -> Iterator[ShownRow]:
    """Sequences of an objective, of its components in turn, and sentences with both neighbours;
    without end."""
    is_code = any(part.objective.reads_identifiers for part in parts_of(objective))
    documents = _code() if is_code else _documents()
    names = _names(objective, documents)
    vocabulary = _vocabulary(names)
    losses = {part.objective.sentence_pair for part in parts_of(objective)}
    packing = Packing(
        format="full_sentences" if losses == {"none"} else "segment_pair",
        pairs="contiguous" if len(losses) > 1 else None,
    )
    maker = BatchMaker(
        _stream(names, documents),
        vocabulary,
        objective,
        packing,
        (Phase(fraction=1, sequence_length=LENGTH),),
        batch_size=1,
        seed=0,
        num_steps=MAX_STEPS,
    )
    wanted = 0
    for step in range(MAX_STEPS):
        if maker.component(step) == wanted:
            made = maker.made(step)
            rows = shown_rows(made, vocabulary, lambda ids: [names[token] for token in ids])
            if whole := [row for row in rows if row.is_whole]:
                yield whole[0]
                wanted = (wanted + 1) % len(maker.components)


def _plain(row: ShownRow) -> dict[str, str]:
    texts = {part: " ".join(one.text for one in tokens) for part, tokens in row.parts.items()}
    return texts if row.pair is None else {**texts, "pair": str(row.pair)}


def _code() -> Documents:
    return [[line.split() for line in CODE]]


@cache
def _documents() -> Documents:
    return [
        [sentence.replace(".", " .").replace(",", " ,").split() for sentence in document]
        for document in read_documents(CORPUS)
    ]


def _names(objective: AnyObjective, documents: Documents) -> list[str]:
    """The vocabulary: special tokens, mode tokens, words, sentinels."""
    modes = dict.fromkeys(part.mode_token for part in parts_of(objective) if part.mode_token)
    words = sorted({word for document in documents for one in document for word in one})
    sentinels = [f"<extra_id_{number}>" for number in range(NUM_SENTINELS)]
    return [*SPECIAL, *modes, *words, *sentinels]


def _vocabulary(names: list[str]) -> Vocabulary:
    special = np.array([name[0] in "[<" for name in names])
    sentinels = np.array([names.index(f"<extra_id_{k}>") for k in range(NUM_SENTINELS)])
    extra = {name: i for i, name in enumerate(names) if name[0] == "[" and i >= len(SPECIAL)}
    pad, _, cls, sep, mask = range(len(SPECIAL))
    texts = tuple(f" {name}" for name in names)
    return Vocabulary(
        *(len(names), pad, cls, sep, mask, special, ~special),
        sentinels=sentinels,
        extra=extra,
        texts=texts,
    )


def _stream(names: list[str], documents: Documents) -> TokenStream:
    ids = {name: number for number, name in enumerate(names)}
    sentences = list(chain.from_iterable(documents))
    tokens = np.array([ids[word] for one in sentences for word in one], dtype=np.uint16)
    return TokenStream(
        tokens,
        np.cumsum([0, *map(len, sentences)]),
        np.cumsum([0, *map(len, documents)]),
    )
