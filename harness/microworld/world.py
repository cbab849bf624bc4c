"""A world: which words it has, what is true in it, and which words the small train sets show."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

from harness.microworld import lexicon

CONCEPTS_PER_KIND = 5
TRAIN_SHARE = 0.4
"""Share of every open class that the train sets of the tasks use; their dev sets use the rest."""

Item = TypeVar("Item")


class Draw(random.Random):
    """Draws built on `random()` alone, whose sequence Python promises to keep for a seed."""

    def pick(self, items: Sequence[Item]) -> Item:
        """One of the items, each with equal probability."""
        return items[int(self.random() * len(items))]

    def chance(self, probability: float) -> bool:
        """True with this probability."""
        return self.random() < probability

    def order(self, items: Sequence[Item]) -> list[Item]:
        """The items in random order."""
        return sorted(items, key=lambda _: self.random())

    def two(self, items: Sequence[Item]) -> tuple[Item, Item]:
        """Two different items."""
        first = int(self.random() * len(items))
        second = int(self.random() * (len(items) - 1))
        return items[first], items[second + (second >= first)]


def inflect(word: str) -> str:
    """The plural of a noun, or the third person of a verb."""
    if word.endswith(("s", "x", "z", "ch", "sh")):
        return word + "es"
    if word.endswith("y") and word[-2] not in "aeiou":
        return word[:-1] + "ies"
    return word + "s"


def with_article(phrase: str) -> str:
    """The phrase after "a" or "an"."""
    return ("an " if phrase[0] in "aeiou" else "a ") + phrase


@dataclass(frozen=True)
class Verb:
    """The forms of a verb: see, sees, saw, seen."""

    base: str
    third: str
    past: str
    participle: str


def verbs(words: str) -> tuple[Verb, ...]:
    """Verbs from `base`, `base/past` or `base/past/participle`; what is missing is regular."""
    made = []
    for word in words.split():
        base, *rest = word.split("/")
        past = rest[0] if rest else base + ("d" if base.endswith("e") else "ed")
        made.append(Verb(base, inflect(base), past, rest[1] if len(rest) > 1 else past))
    return tuple(made)


@dataclass(frozen=True)
class Kind:
    """A hypernym and the words that go with its members only."""

    name: str
    plural: str
    subject_verbs: tuple[Verb, ...]
    object_verbs: tuple[Verb, ...]
    adjectives: tuple[str, ...]


@dataclass(frozen=True)
class Concept:
    """What two synonyms mean, with the facts about it: its kind, its colour, where it is found."""

    names: tuple[str, str]
    plurals: tuple[str, str]
    kind: Kind
    colour: str
    city: str


@dataclass(frozen=True)
class Words:
    """Open words of a world: all of them, or the part that one split of the tasks uses."""

    concepts: tuple[Concept, ...]
    positive: tuple[str, ...]
    negative: tuple[str, ...]
    women: tuple[str, ...]
    men: tuple[str, ...]
    colours: tuple[str, ...]
    cities: tuple[str, ...]

    @property
    def people(self) -> tuple[str, ...]:
        """Names of all persons."""
        return self.women + self.men

    def polar(self, positive: bool) -> tuple[str, ...]:
        """Adjectives of one polarity."""
        return self.positive if positive else self.negative


@dataclass(frozen=True)
class World:
    """Everything a corpus tells; `train` and `validation` share no open word."""

    kinds: tuple[Kind, ...]
    verbs: tuple[Verb, ...]
    train: Words
    validation: Words

    @property
    def words(self) -> Words:
        """The open words of both splits."""
        pairs = zip(vars(self.train).values(), vars(self.validation).values(), strict=True)
        return Words(*(ours + theirs for ours, theirs in pairs))


def _kinds() -> tuple[Kind, ...]:
    return tuple(
        Kind(
            name,
            inflect(name),
            verbs(lexicon.SUBJECT_VERBS[name]),
            verbs(lexicon.OBJECT_VERBS[name]),
            tuple(lexicon.KIND_ADJECTIVES[name].split()),
        )
        for name in lexicon.NOUNS
    )


def _concepts(
    draw: Draw, kind: Kind, pairs: list[str], colours: list[str], cities: list[str]
) -> tuple[Concept, ...]:
    """Concepts of one kind, no two of which share a colour or a place."""
    facts = zip(pairs, draw.order(colours), draw.order(cities), strict=False)
    made = []
    for pair, colour, city in facts:
        one, other = pair.split("/")
        made.append(Concept((one, other), (inflect(one), inflect(other)), kind, colour, city))
    return tuple(made)


@cache
def world(seed: int) -> World:
    """The world of a seed. Worlds share their grammar; they differ in words, facts and splits."""
    draw = Draw(seed)
    kinds = _kinds()
    closed = ("POSITIVE", "NEGATIVE", "WOMEN", "MEN", "COLOURS", "CITIES")
    lists = {name: draw.order(getattr(lexicon, name).split()) for name in closed}
    nouns = {
        kind: draw.order(lexicon.NOUNS[kind.name].split())[:CONCEPTS_PER_KIND] for kind in kinds
    }

    def words(train: bool) -> Words:
        def half(items: list[str]) -> list[str]:
            cut = round(TRAIN_SHARE * len(items))
            return items[:cut] if train else items[cut:]

        part = {name: half(items) for name, items in lists.items()}
        concepts = tuple(
            concept
            for kind in kinds
            for concept in _concepts(
                draw, kind, half(nouns[kind]), part["COLOURS"], part["CITIES"]
            )
        )
        return Words(concepts, *(tuple(part[name]) for name in closed))

    return World(kinds, verbs(lexicon.NEUTRAL_VERBS), words(train=True), words(train=False))
