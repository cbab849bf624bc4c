"""The step that removes evaluation texts, and how they are found."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from harness.data.corpora.steps.step import Documents, EvaluationTexts, Step

OVERLAP = 8
"""Words of an n-gram that counts as overlap: 8 to 13 in the literature (Brown et al. 2020, appendix
C; Radford et al. 2019, section 4)."""
_WORD = re.compile(r"\w+")


class Decontaminate(Step):
    """Removes sentences that share an n-gram of words with an evaluation or test text of a suite,
    or are equal to one that is shorter (after Brown et al. 2020, appendix C)."""

    kind: Literal["decontaminate"] = "decontaminate"
    suite: str
    """A suite (`harness list suites`)."""
    ngram: int = Field(default=OVERLAP, ge=1)


@dataclass(frozen=True)
class EvaluationNgrams:
    """The n-grams of evaluation texts, as hashes, which take a third of the memory of text."""

    size: int
    """Words of an n-gram, in lower case and without punctuation."""
    long: frozenset[int]
    short: frozenset[int]
    """Of texts with fewer words, as a whole."""

    @classmethod
    def of(cls, texts: Iterable[str], size: int = OVERLAP) -> "EvaluationNgrams":
        """The n-grams of texts."""
        long: set[int] = set()
        short: set[int] = set()
        for text in texts:
            words = plain_words(text)
            if len(words) < size:
                short.add(_hash(words))
            else:
                long.update(_hashes(words, size))
        return cls(size, frozenset(long), frozenset(short - {_hash([])}))

    def found_in(self, document: list[str]) -> set[int]:
        """Indices of the sentences of a document that have a word of a shared n-gram, which may
        reach over several sentences, or are equal to a shorter text."""
        words, sentence_of = [], []
        found: set[int] = set()
        for index, sentence in enumerate(document):
            new = plain_words(sentence)
            words += new
            sentence_of += [index] * len(new)
            if len(new) < self.size and _hash(new) in self.short:
                found.add(index)
        for start, ngram in enumerate(_hashes(words, self.size)):
            if ngram in self.long:
                found.update(sentence_of[start : start + self.size])
        return found


def decontaminate(
    step: Decontaminate, documents: Documents, evaluation: EvaluationTexts
) -> Iterator[list[str]]:
    """Documents without the sentences that overlap, and without those that consist of them."""
    ngrams = EvaluationNgrams.of(evaluation(step.suite), step.ngram)
    for document in documents:
        found = ngrams.found_in(document)
        if kept := [one for index, one in enumerate(document) if index not in found]:
            yield kept


def plain_words(text: str) -> list[str]:
    """Words in lower case without punctuation, so that `it's` and `it 's` are equal."""
    return _WORD.findall(text.lower())


def _hashes(words: list[str], size: int) -> Iterator[int]:
    return (_hash(words[start : start + size]) for start in range(len(words) - size + 1))


def _hash(words: list[str]) -> int:
    return hash(" ".join(words))
