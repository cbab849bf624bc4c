"""The documents of a corpus in training and held-out ones; those of a mixture in their shares."""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import NoReturn

from harness.data.corpora.load_corpus import read_documents
from harness.data.corpora.sources import Corpus, MixedCorpus, SingleCorpus, clean_text
from harness.data.corpora.steps import ablations


@dataclass(frozen=True)
class Document:
    """A document, and what becomes of it."""

    sentences: list[str]
    is_held_out: bool
    source: str = ""
    """Name in a mixture."""
    repeat: int = 0
    """How often its source had been read whole before."""

    @property
    def num_bytes(self) -> int:
        """Of the sentences in UTF-8."""
        return sum(len(sentence.encode()) for sentence in self.sentences)


Read = Callable[[SingleCorpus], Iterator[list[str]]]
Split = Callable[[SingleCorpus], Iterator[Document]]


def split_corpus(
    corpus: Corpus, held_out: Corpus | None = None, read: Read = read_documents
) -> Iterator[Document]:
    """The documents of a corpus, each either held out or for training.

    Args:
        held_out: a corpus of which all documents are held out, without its ablations, and none of
            `corpus`.
        read: the documents of a source.

    Raises:
        ValueError: the text is missing, or not in the declared format; or a source of a mixture has
            no training document.
    """
    if held_out is not None:
        clean = split_corpus(clean_text(held_out), read=read)
        yield from (replace(one, is_held_out=True) for one in clean)
    split_one = partial(split_source, read, held_out is not None)
    yield from mixed(corpus, split_one) if isinstance(corpus, MixedCorpus) else split_one(corpus)


def split_source(read: Read, all_training: bool, source: SingleCorpus) -> Iterator[Document]:
    """The documents of a source, training documents after the ablations.

    Args:
        read: the documents of a source.
        all_training: hold out none.
    """
    spoil = ablations(source.steps or ())
    for one in split(read(source), 0.0 if all_training else source.validation_fraction):
        for sentences in [one.sentences] if one.is_held_out else spoil(one.sentences):
            yield Document(sentences, one.is_held_out)


def split(documents: Iterable[list[str]], fraction: float) -> Iterator[Document]:
    """Documents of which a share `fraction` is held out."""
    for index, sentences in enumerate(documents):
        yield Document(sentences, is_held_out(index, fraction))


def is_held_out(index: int, fraction: float) -> bool:
    """Whether document `index` is held out: the first, then a share `fraction`, evenly spaced."""
    return math.ceil((index + 1) * fraction) > math.ceil(index * fraction)


def mixed(corpus: MixedCorpus, split_one: Split) -> Iterator[Document]:
    """The documents of a mixture: the next is always of the source that is furthest behind its
    share, so that no random numbers are needed and shares differ from the weights by at most a
    document; or of the first that has not reached its share (`order`).

    Args:
        split_one: the documents of a source.

    Raises:
        ValueError: a source has no training document.
    """
    shares = shares_of(corpus, split_one)
    readers = {name: _Reader(name, corpus.sources[name], split_one) for name in shares}
    written = dict.fromkeys(shares, 0)
    limit = corpus.num_bytes or math.inf
    while shares and sum(written.values()) < limit:
        if corpus.order == "sequence":
            name = next(name for name in corpus.sources if name in shares)
        else:
            name = min(shares, key=lambda name: written[name] / shares[name])
        document = readers[name].next(may_repeat=corpus.num_bytes is not None)
        if document is not None:
            written[name] += 0 if document.is_held_out else document.num_bytes
            yield document
        elif not corpus.reads_all:
            return
        if document is None or (corpus.order and written[name] >= shares[name] * limit):
            del shares[name]


def shares_of(corpus: MixedCorpus, split_one: Split) -> dict[str, float]:
    """Name of each source to its share of the training text, which add up to 1."""
    sizes = corpus.weights or {
        name: _training_bytes(name, split_one(source)) ** (1 / corpus.temperature)
        for name, source in corpus.sources.items()
    }
    total = sum(sizes.values())
    return {name: size / total for name, size in sizes.items()}


def _training_bytes(name: str, documents: Iterator[Document]) -> int:
    """Bytes of the training documents of a source, all of which are read."""
    size = sum(one.num_bytes for one in documents if not one.is_held_out)
    return size or _no_text(name)


def _no_text(name: str) -> NoReturn:
    raise ValueError(
        f"corpus.sources.{name} must have at least 2 documents with text, one of them held out, "
        "but has fewer; add text or remove the source"
    )


class _Reader:
    """Reads a source again and again."""

    def __init__(self, name: str, source: SingleCorpus, split_one: Split) -> None:
        self.name, self.source, self.split_one = name, source, split_one
        self.repeat, self.has_text = 0, False
        self.documents = split_one(source)

    def next(self, may_repeat: bool) -> Document | None:
        """The next document, without held-out ones of repeats; null if there is none."""
        while True:
            for one in self.documents:
                self.has_text |= not one.is_held_out
                if not (self.repeat and one.is_held_out):
                    return Document(one.sentences, one.is_held_out, self.name, self.repeat)
            if not self.has_text:
                _no_text(self.name)
            if not may_repeat:
                return None
            self.repeat += 1
            self.documents = self.split_one(self.source)
