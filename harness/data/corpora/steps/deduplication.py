"""Steps that keep one of equal or similar documents."""

from collections.abc import Iterator
from hashlib import blake2b
from typing import Literal

from pydantic import Field

from harness.data.corpora.steps.step import (
    Documents,
    EvaluationTexts,
    Step,
    ngrams,
    words_of,
)

RECALL = 0.99
"""Least share of the pairs at the threshold that the index finds. With datasketch's own bands, it
is 0.40 at a threshold of 0.8."""


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


def deduplicate(step: Deduplicate, documents: Documents, _: EvaluationTexts) -> Iterator[list[str]]:
    """The first of equal documents; 16 bytes of memory and some overhead for each."""
    seen: set[bytes] = set()
    for document in documents:
        text = " ".join(words_of(document)).lower()
        digest = blake2b(text.encode(), digest_size=16).digest()
        if digest not in seen:
            seen.add(digest)
            yield document


def deduplicate_near(
    step: DeduplicateNear, documents: Documents, _: EvaluationTexts
) -> Iterator[list[str]]:
    """The first of similar documents, by datasketch's index of MinHashes, which takes about 8 KB of
    memory for each with the default settings."""
    from datasketch import MinHash, MinHashLSH

    index = MinHashLSH(num_perm=step.num_permutations, params=bands(step))
    kept: list[MinHash] = []
    for document in documents:
        found = MinHash(num_perm=step.num_permutations)
        found.update_batch([one.encode() for one in ngrams(words_of(document), step.ngram)])
        similar = (kept[number] for number in index.query(found))
        if not any(found.jaccard(other) >= step.threshold for other in similar):
            index.insert(len(kept), found)
            kept.append(found)
            yield document


def bands(step: DeduplicateNear) -> tuple[int, int]:
    """Bands of hashes, and hashes in each. Pairs with an equal band are compared: of similarity s,
    a share of 1 - (1 - s^hashes)^bands. Few hashes find more pairs, but compare more in vain."""
    most = step.num_permutations
    for hashes in range(most // 2, 1, -1):
        if 1 - (1 - step.threshold**hashes) ** (most // hashes) >= RECALL:
            return most // hashes, hashes
    return most, 1
