"""Steps that spoil training documents, as ablations."""

import re
from random import Random
from typing import Literal

from pydantic import Field

from harness.data.corpora.steps.step import Step, words_of


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


class Interchange(Step):
    """Replaces each of some words by a random one of them: what the text says of single ones is
    lost, and their frequency together remains. An ablation whose effect on a task is known
    beforehand."""

    kind: Literal["interchange"] = "interchange"
    words: tuple[str, ...] = Field(min_length=2)
    """Words or phrases, such as `Mr.`; of those that begin at one place the longest is replaced."""
    seed: int = Field(default=0, ge=0)


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


def interchange(step: Interchange, document: list[str], random: Random) -> list[list[str]]:
    """A document with interchanged words."""
    longest_first = sorted(step.words, key=len, reverse=True)
    found = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest_first))})(?!\w)")
    return [[found.sub(lambda _: random.choice(step.words), sentence) for sentence in document]]
