"""The size of a corpus of local files, before any tokenizer exists."""

from dataclasses import dataclass

from harness.data.corpora.load_corpus import corpus_bytes, corpus_files, read_documents
from harness.data.corpora.sources import JsonLinesCorpus, TextCorpus

MAX_COUNTED_BYTES = 20_000_000
"""Text up to which documents and words are counted, which takes seconds."""


@dataclass(frozen=True)
class CorpusSize:
    """What the files of a corpus hold, held-out documents included."""

    files: int
    bytes: int
    documents: int | None = None
    """Null for a corpus of more than MAX_COUNTED_BYTES; so is `words`."""
    words: int | None = None
    """Separated by spaces; a tokenizer makes at least one token of each."""


def corpus_size(corpus: TextCorpus | JsonLinesCorpus) -> CorpusSize:
    """The size of a local corpus.

    Raises:
        ValueError: the files are missing, or not in the declared format.
    """
    files, size = len(corpus_files(corpus)), corpus_bytes(corpus)
    if size > MAX_COUNTED_BYTES:
        return CorpusSize(files, size)
    counts = [sum(len(sentence.split()) for sentence in one) for one in read_documents(corpus)]
    return CorpusSize(files, size, len(counts), sum(counts))
