"""Steps that normalise documents, or keep some by their language, length and quality."""

import unicodedata
from collections.abc import Iterator
from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from harness.data.corpora.steps.step import Documents, EvaluationTexts, Step, words_of

CLASSIFIED = 2_000
"""Characters from which the language of a document is identified."""


class Normalise(Step):
    """Unicode normalisation, and one space for any white space."""

    kind: Literal["normalise"] = "normalise"
    form: Literal["NFC", "NFKC"] = "NFKC"


class Length(Step):
    """Keeps documents with so many words, separated by white space."""

    kind: Literal["length"] = "length"
    min_words: int = Field(default=1, ge=1)
    max_words: int | None = Field(default=None, ge=1)

    @model_validator(mode="after")
    def _not_empty(self) -> Self:
        if self.max_words is not None and self.max_words < self.min_words:
            raise ValueError(
                f"max_words must be at least min_words, {self.min_words}, but is {self.max_words}"
            )
        return self


class Quality(Step):
    """Keeps documents that pass the rules for natural text of Gopher (Rae et al. 2021, appendix
    A.1.1), which were made for web pages."""

    kind: Literal["quality"] = "quality"
    min_words: int = Field(default=50, ge=1)
    max_words: int = Field(default=100_000, ge=1)


class Language(Step):
    """Keeps documents in some languages, as identified by py3langid (Lui and Baldwin 2012) from
    their first characters."""

    kind: Literal["language"] = "language"
    languages: tuple[Annotated[str, StringConstraints(pattern="^[a-z]{2,3}$")], ...] = Field(
        default=("en",), min_length=1
    )
    """Codes of ISO 639-1 (`en`, `de`)."""


def normalise(step: Normalise, documents: Documents, _: EvaluationTexts) -> Iterator[list[str]]:
    """Each sentence in a Unicode normal form with single spaces."""
    for document in documents:
        yield [" ".join(unicodedata.normalize(step.form, one).split()) for one in document]


def length(step: Length, documents: Documents, _: EvaluationTexts) -> Iterator[list[str]]:
    """Documents within the limits."""
    most = step.max_words or float("inf")
    return (one for one in documents if step.min_words <= len(words_of(one)) <= most)


STOP_WORDS = frozenset(("the", "be", "to", "of", "and", "that", "have", "with"))


def quality(step: Quality, documents: Documents, _: EvaluationTexts) -> Iterator[list[str]]:
    """Documents that pass Gopher's rules, but those on bullet points and ellipses at line ends, as
    documents have sentences in place of lines."""
    for document in documents:
        words = words_of(document)
        if not step.min_words <= len(words) <= step.max_words:
            continue
        mean_length = sum(map(len, words)) / len(words)
        hashes = sum(word.count("#") for word in words)
        ellipses = sum(word.count("...") + word.count("…") for word in words)
        alphabetic = sum(any(map(str.isalpha, word)) for word in words)
        stop_words = STOP_WORDS.intersection(map(str.lower, words))
        if (
            3 <= mean_length <= 10
            and max(hashes, ellipses) <= 0.1 * len(words)
            and alphabetic >= 0.8 * len(words)
            and len(stop_words) >= 2
        ):
            yield document


def language(step: Language, documents: Documents, _: EvaluationTexts) -> Iterator[list[str]]:
    """Documents in the languages of the step."""
    return (one for one in documents if language_of(one) in step.languages)


def language_of(document: list[str]) -> str:
    """The most probable language of a document; `zxx` if it has no letters."""
    from py3langid import classify

    name: str = classify(" ".join(document)[:CLASSIFIED])[0]
    return name
