"""What a corpus holds: sizes, lengths, duplicates, words, and texts of tasks that occur in it."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import blake2b

from harness.data.corpora.mixing import Document
from harness.data.corpora.steps import ngrams, words_of

OVERLAP = 8
"""Words of an n-gram that counts as overlap: 8 to 13 in the literature (Brown et al. 2020, appendix
C; Radford et al. 2019, section 4)."""


@dataclass
class CorpusStatistics:
    """Counts over documents, which are added one by one. Memory grows with the distinct words and
    the documents, of which digests and lengths are kept."""

    evaluation: frozenset[str] = frozenset()
    """N-grams of OVERLAP words of the texts that the corpus should not have."""
    num_held_out: int = 0
    num_sentences: int = 0
    num_bytes: int = 0
    """Of the sentences in UTF-8."""
    num_duplicates: int = 0
    """Documents whose words equal those of an earlier one in lower case."""
    num_repeated: int = 0
    """Documents that a mixture reads again."""
    num_overlapping: int = 0
    """Documents with an n-gram of `evaluation`."""
    lengths: list[int] = field(default_factory=list)
    """Words of each document."""
    words: set[str] = field(default_factory=set)
    """Distinct words in lower case."""
    digests: set[bytes] = field(default_factory=set)

    @property
    def num_words(self) -> int:
        """Separated by white space."""
        return sum(self.lengths)

    def add(self, document: Document) -> None:
        """Counts a document."""
        words = [word.lower() for word in words_of(document.sentences)]
        digest = blake2b(" ".join(words).encode(), digest_size=16).digest()
        self.num_repeated += document.repeat > 0
        self.num_duplicates += document.repeat == 0 and digest in self.digests
        self.digests.add(digest)
        self.num_held_out += document.is_held_out
        self.num_sentences += len(document.sentences)
        self.num_bytes += document.num_bytes
        self.lengths.append(len(words))
        self.words.update(words)
        if self.evaluation and not self.evaluation.isdisjoint(ngrams(words, OVERLAP)):
            self.num_overlapping += 1


def statistics(
    documents: Iterable[Document], evaluation: frozenset[str] = frozenset()
) -> dict[str, CorpusStatistics]:
    """Name of each source of a mixture, or "" otherwise, to its counts."""
    found: dict[str, CorpusStatistics] = {}
    for document in documents:
        name = document.source
        if name not in found:
            found[name] = CorpusStatistics(evaluation)
        found[name].add(document)
    return found


def evaluation_ngrams(texts: Iterable[str]) -> frozenset[str]:
    """The n-grams of OVERLAP words of texts; shorter texts have none, for they occur by chance."""
    words = (text.split() for text in texts)
    long = (one for one in words if len(one) >= OVERLAP)
    return frozenset(ngram for one in long for ngram in ngrams(one, OVERLAP))
