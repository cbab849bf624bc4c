"""The size of a corpus of local files before any tokenizer exists, and if they can be read."""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from harness.data.corpora.load_corpus import read_documents
from harness.data.corpora.local_files import corpus_bytes, corpus_files, lines
from harness.data.corpora.sources import (
    Corpus,
    JsonLinesCorpus,
    LocalCorpus,
    MixedCorpus,
    TextCorpus,
    sources_of,
)
from harness.data.corpora.steps.decontamination import Decontaminate
from harness.data.corpora.steps.deduplication import DeduplicateNear
from harness.data.corpora.steps.filters import Language
from harness.data.digests import digest

MAX_COUNTED_BYTES = 20_000_000
"""Text up to which documents and words are counted, which takes seconds."""
SLOW = (Decontaminate, DeduplicateNear, Language)
"""Steps with which it would take minutes, or read the data of a suite."""


@dataclass(frozen=True)
class CorpusSize:
    """What the files of a corpus hold, held-out documents included."""

    files: int
    bytes: int
    documents: int | None = None
    """Null for a corpus of more than MAX_COUNTED_BYTES, and for one with SLOW steps; so is
    `words`."""
    words: int | None = None
    """Separated by spaces; a tokenizer makes at least one token of each."""


def corpus_size(corpus: LocalCorpus) -> CorpusSize:
    """The size of a local corpus.

    Raises:
        ValueError: the files are missing, or not in the declared format.
    """
    files, size = len(corpus_files(corpus)), corpus_bytes(corpus)
    if size > MAX_COUNTED_BYTES or any(isinstance(step, SLOW) for step in corpus.steps or ()):
        return CorpusSize(files, size)
    counts = [sum(len(sentence.split()) for sentence in one) for one in read_documents(corpus)]
    return CorpusSize(files, size, len(counts), sum(counts))


def check_readable(corpus: Corpus) -> None:
    """Reads the lines of local text of at most MAX_COUNTED_BYTES; larger text, and text of which
    only a part is used, is left to the stage that reads it.

    Raises:
        ValueError: a file is not UTF-8, is damaged, or has too long a line.
    """
    for one in sources_of(corpus):
        if not isinstance(one, TextCorpus | JsonLinesCorpus) or one.max_documents or one.max_bytes:
            continue
        files = corpus_files(one) if corpus_bytes(one) <= MAX_COUNTED_BYTES else []
        if problem := next(filter(None, (_problem(file, digest([file])) for file in files)), None):
            raise ValueError(f"corpus.path: {problem}")


@lru_cache(maxsize=1_000)
def _problem(file: Path, content: str) -> str | None:
    """Why a file cannot be read, null if it can; the digest is a key of the cache only, which the
    arms of a grid share."""
    try:
        for _ in lines(file):
            pass
    except ValueError as error:
        return str(error)
    return None


def expected_bytes(corpus: Corpus) -> int | None:
    """Bytes of a corpus before it is read, of compressed files by estimate; null where they are not
    known: the micro-world and data sets of the Hub. Steps may leave less.

    Raises:
        ValueError: the files are missing, or not in the declared format.
    """
    if isinstance(corpus, MixedCorpus):
        sizes = [expected_bytes(source) for source in corpus.sources.values()]
        known = [size for size in sizes if size is not None]
        is_known = corpus.reads_all and len(known) == len(sizes)
        return corpus.num_bytes or (sum(known) if is_known else None)
    size = None
    if isinstance(corpus, LocalCorpus) and not corpus.max_documents:
        size = corpus_bytes(corpus)
    limits = [limit for limit in (size, corpus.max_bytes) if limit is not None]
    return min(limits, default=None)
