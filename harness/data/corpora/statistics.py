"""What a corpus holds: sizes, lengths, languages, duplicates, words, and texts of tasks that occur
in it."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import blake2b

from harness.data.corpora.mixing import Document
from harness.data.corpora.steps.decontamination import EvaluationNgrams
from harness.data.corpora.steps.filters import language_of
from harness.data.corpora.steps.step import words_of


@dataclass
class CorpusStatistics:
    """Counts over documents, which are added one by one. Memory grows with the distinct words and
    the documents, of which digests and lengths are kept."""

    evaluation: EvaluationNgrams | None = None
    """N-grams of the texts that the corpus should not have."""
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
    languages: Counter[str] = field(default_factory=Counter)
    """Language to the documents in it."""
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
        self.languages[language_of(document.sentences)] += 1
        if self.evaluation and self.evaluation.found_in(document.sentences):
            self.num_overlapping += 1

    def coverage(self, words: Counter[str]) -> float:
        """Share of the occurrences of `words`, in lower case, that are of a word of the corpus."""
        known = sum(count for word, count in words.items() if word in self.words)
        return known / max(1, words.total())


def statistics(
    documents: Iterable[Document], evaluation: EvaluationNgrams | None = None
) -> dict[str, CorpusStatistics]:
    """Name of each source of a mixture, or "" otherwise, to its counts."""
    found: dict[str, CorpusStatistics] = {}
    for document in documents:
        name = document.source
        if name not in found:
            found[name] = CorpusStatistics(evaluation)
        found[name].add(document)
    return found


def word_counts(texts: Iterable[str]) -> Counter[str]:
    """Each word of texts in lower case, separated by white space, to its occurrences."""
    return Counter(word for text in texts for word in text.lower().split())
