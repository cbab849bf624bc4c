"""AXIS: steps between the documents of a source and the token stream.

Those that clean the text (CLEANING) are applied to all documents of a source, in their order,
before some are held out. Those that spoil it as an ablation (ABLATIONS) are applied after them, to
training documents alone; the tokenizer is trained without them.
"""

import unicodedata
from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from hashlib import blake2b
from operator import or_
from random import Random
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import (
    BeforeValidator,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    model_validator,
)
from pydantic_core import CoreSchema

from harness.core.config import ConfigModel, kind_from_name

Documents = Iterable[list[str]]
"""Lists of sentences."""


class Step(ConfigModel):
    """Settings of a step; `kind` names it in an experiment."""

    if TYPE_CHECKING:  # each step declares its own literal
        kind: str


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


class Deduplicate(Step):
    """Keeps the first of equal documents, by their words in lower case."""

    kind: Literal["deduplicate"] = "deduplicate"


class DeduplicateNear(Step):
    """Keeps the first of documents whose sets of word n-grams have an estimated Jaccard similarity
    of at least `threshold`, by MinHash (Broder 1997; Lee et al. 2022, appendix A)."""

    kind: Literal["deduplicate_near"] = "deduplicate_near"
    threshold: float = Field(default=0.8, gt=0, lt=1)
    ngram: int = Field(default=5, ge=1)
    num_permutations: int = Field(default=128, ge=16)


class Duplicate(Step):
    """Repeats a random share of the documents right after themselves: an ablation (Lee et al. 2022;
    Hernandez et al. 2022)."""

    kind: Literal["duplicate"] = "duplicate"
    share: float = Field(default=0.1, gt=0, le=1)
    copies: int = Field(default=10, ge=1)
    """Additional copies of each."""
    seed: int = Field(default=0, ge=0)


class Noise(Step):
    """Replaces a random share of the words by random words of the same document: an ablation."""

    kind: Literal["noise"] = "noise"
    rate: float = Field(default=0.1, gt=0, le=1)
    seed: int = Field(default=0, ge=0)


def normalise(step: Normalise, documents: Documents) -> Iterator[list[str]]:
    """Each sentence in a Unicode normal form with single spaces."""
    for document in documents:
        yield [" ".join(unicodedata.normalize(step.form, one).split()) for one in document]


def length(step: Length, documents: Documents) -> Iterator[list[str]]:
    """Documents within the limits."""
    most = step.max_words or float("inf")
    return (one for one in documents if step.min_words <= len(words_of(one)) <= most)


STOP_WORDS = frozenset(("the", "be", "to", "of", "and", "that", "have", "with"))


def quality(step: Quality, documents: Documents) -> Iterator[list[str]]:
    """Documents that pass Gopher's rules, but those on bullet points and ellipses at line ends, as
    documents have sentences in place of lines."""
    for document in documents:
        words = words_of(document)
        if not step.min_words <= len(words) <= step.max_words:
            continue
        mean_length = sum(map(len, words)) / len(words)
        symbols = sum(word.count("#") + word.count("...") + word.count("…") for word in words)
        alphabetic = sum(any(map(str.isalpha, word)) for word in words)
        stop_words = STOP_WORDS.intersection(map(str.lower, words))
        if (
            3 <= mean_length <= 10
            and symbols <= 0.1 * len(words)
            and alphabetic >= 0.8 * len(words)
            and len(stop_words) >= 2
        ):
            yield document


def deduplicate(step: Deduplicate, documents: Documents) -> Iterator[list[str]]:
    """The first of equal documents; 16 bytes of memory and some overhead for each."""
    seen: set[bytes] = set()
    for document in documents:
        text = " ".join(words_of(document)).lower()
        digest = blake2b(text.encode(), digest_size=16).digest()
        if digest not in seen:
            seen.add(digest)
            yield document


def deduplicate_near(step: DeduplicateNear, documents: Documents) -> Iterator[list[str]]:
    """The first of similar documents, by datasketch's index of MinHashes, which takes about 2 KB of
    memory for each."""
    from datasketch import MinHash, MinHashLSH

    index = MinHashLSH(threshold=step.threshold, num_perm=step.num_permutations)
    kept: list[MinHash] = []
    for document in documents:
        found = MinHash(num_perm=step.num_permutations)
        found.update_batch([one.encode() for one in ngrams(words_of(document), step.ngram)])
        similar = (kept[number] for number in index.query(found))
        if not any(found.jaccard(other) >= step.threshold for other in similar):
            index.insert(len(kept), found)
            kept.append(found)
            yield document


def duplicate(step: Duplicate, document: list[str], random: Random) -> list[list[str]]:
    """A document, and copies of it or none."""
    return [document] * (1 + step.copies * (random.random() < step.share))


def noise(step: Noise, document: list[str], random: Random) -> list[list[str]]:
    """A document with replaced words."""
    words = words_of(document)
    return [
        [
            " ".join(
                random.choice(words) if random.random() < step.rate else word
                for word in sentence.split()
            )
            for sentence in document
        ]
    ]


def words_of(document: list[str]) -> list[str]:
    """The words of a document, separated by white space."""
    return [word for sentence in document for word in sentence.split()]


def ngrams(words: list[str], size: int) -> set[str]:
    """The n-grams of words in lower case; of fewer words one, which is shorter."""
    words = [word.lower() for word in words]
    return {" ".join(words[i : i + size]) for i in range(max(1, len(words) - size + 1))}


CLEANING: dict[type[Step], Callable[[Any, Documents], Iterator[list[str]]]] = {
    Normalise: normalise,
    Length: length,
    Quality: quality,
    Deduplicate: deduplicate,
    DeduplicateNear: deduplicate_near,
}
"""Settings of each cleaning step, and (settings, documents) to the documents that remain."""
ABLATIONS: dict[type[Step], Callable[[Any, list[str], Random], list[list[str]]]] = {
    Duplicate: duplicate,
    Noise: noise,
}
"""Settings of each ablation, and (settings, document, generator) to what it becomes."""
Steps = tuple[Step, ...]


class _OneOfSteps:
    """Makes pydantic accept exactly the members of CLEANING and ABLATIONS."""

    def __get_pydantic_core_schema__(self, _: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        union: Any = reduce(or_, [*CLEANING, *ABLATIONS])
        return handler.generate_schema(Annotated[union, Field(discriminator="kind")])

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        names = [kind.model_fields["kind"].default for kind in (*CLEANING, *ABLATIONS)]
        return {"anyOf": [{"enum": names}, handler(schema)]}


AnyStep = Annotated[Step, _OneOfSteps(), BeforeValidator(kind_from_name)]
"""A step by its fields, or by its kind alone."""


def cleaned(steps: Steps, documents: Documents) -> Documents:
    """The documents after the cleaning steps."""
    for step in steps:
        if type(step) in CLEANING:
            documents = CLEANING[type(step)](step, documents)
    return documents


def ablations(steps: Steps) -> Callable[[list[str]], list[list[str]]]:
    """The function from a training document to what the ablations make of it; it has random numbers
    of its own."""
    chosen = [(step, Random(vars(step)["seed"])) for step in steps if type(step) in ABLATIONS]

    def apply(document: list[str]) -> list[list[str]]:
        found = [document]
        for step, random in chosen:
            found = [new for one in found for new in ABLATIONS[type(step)](step, one, random)]
        return found

    return apply


def without_ablations(steps: Steps | None) -> Steps | None:
    """The cleaning steps; null if there are none."""
    return tuple(step for step in steps or () if type(step) in CLEANING) or None
