"""The size of a corpus of local files before any tokenizer exists, and if they can be read."""

from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from harness.data.corpora.load_corpus import parts, read_documents
from harness.data.corpora.local_files import corpus_bytes, corpus_files
from harness.data.corpora.sources import (
    Corpus,
    JsonLinesCorpus,
    LocalCorpus,
    MixedCorpus,
    ParquetCorpus,
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
    """Reads local text of at most MAX_COUNTED_BYTES, without its steps; of larger text, and of text
    of which only a part is used, the first line or document.

    Raises:
        ValueError: a file is not UTF-8, is damaged, has too long a line, or a row without text.
    """
    for one in sources_of(corpus):
        if isinstance(one, TextCorpus | JsonLinesCorpus | ParquetCorpus):
            is_small = corpus_bytes(one) <= MAX_COUNTED_BYTES
            is_whole = is_small and not one.max_documents and not one.max_bytes
            plain = one.model_copy(update={"steps": None})
            if problem := _problem(plain, digest(corpus_files(one)), None if is_whole else 1):
                raise ValueError(f"corpus.path: {problem}")


@lru_cache(maxsize=1_000)
def _problem(
    corpus: TextCorpus | JsonLinesCorpus | ParquetCorpus, content: str, most: int | None
) -> str | None:
    """Why a corpus cannot be read, null if it can; the digest of its files is a key of the cache
    only, which the arms of a grid share.

    Args:
        most: lines or documents that are read; null: all.
    """
    try:
        for _ in islice(parts(corpus), most):
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
