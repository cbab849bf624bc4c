"""A world: its words and facts, and which of the words the train sets of the tasks use."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cache, cached_property

from harness.data.microworld import lexicon
from harness.data.microworld.morphology import Verb, inflect, parse_verbs
from harness.data.microworld.random_draws import Draw

CONCEPTS_PER_KIND = 5
TRAIN_SHARE = 0.4
"""Share of every open word class that the train sets use; the dev sets use the rest."""


@dataclass(frozen=True)
class Kind:
    """A hypernym and the words that only its members take."""

    name: str
    plural: str
    subject_verbs: tuple[Verb, ...]
    object_verbs: tuple[Verb, ...]
    adjectives: tuple[str, ...]


@dataclass(frozen=True)
class Concept:
    """The meaning of two synonyms and the facts about it: its kind, its colour and its city."""

    names: tuple[str, str]
    plurals: tuple[str, str]
    kind: Kind
    colour: str
    city: str


@dataclass(frozen=True)
class Words:
    """Open words of a world: all of them, or those of one split."""

    concepts: tuple[Concept, ...]
    positive: tuple[str, ...]
    negative: tuple[str, ...]
    women: tuple[str, ...]
    men: tuple[str, ...]
    colours: tuple[str, ...]
    cities: tuple[str, ...]

    @cached_property
    def people(self) -> tuple[str, ...]:
        """The names of all persons."""
        return self.women + self.men

    def polar(self, positive: bool) -> tuple[str, ...]:
        """The adjectives of one polarity."""
        return self.positive if positive else self.negative

    def members(self, kind: Kind) -> list[Concept]:
        """The concepts of one kind."""
        return [concept for concept in self.concepts if concept.kind is kind]


@dataclass(frozen=True)
class World:
    """Everything a corpus can state. `train` and `validation` share no open word."""

    kinds: tuple[Kind, ...]
    verbs: tuple[Verb, ...]
    """Verbs that take any object."""
    train: Words
    validation: Words

    @cached_property
    def words(self) -> Words:
        """The open words of both splits."""
        names = [field.name for field in fields(Words)]
        return Words(*(getattr(self.train, n) + getattr(self.validation, n) for n in names))


@cache
def build(seed: int) -> World:
    """The world of a seed. Worlds share their grammar but differ in words, facts and splits."""
    draw = Draw(seed)
    kinds = _kinds()
    nouns = {
        kind: halves(draw.order(lexicon.NOUNS[kind.name].split())[:CONCEPTS_PER_KIND])
        for kind in kinds
    }
    others = {name: halves(draw.order(words.split())) for name, words in lexicon.OPEN_WORDS.items()}
    train, validation = (
        _words(
            draw,
            {kind: pairs[half] for kind, pairs in nouns.items()},
            {name: words[half] for name, words in others.items()},
        )
        for half in (0, 1)
    )
    return World(kinds, parse_verbs(lexicon.NEUTRAL_VERBS), train, validation)


def _kinds() -> tuple[Kind, ...]:
    return tuple(
        Kind(
            name=name,
            plural=inflect(name),
            subject_verbs=parse_verbs(lexicon.SUBJECT_VERBS[name]),
            object_verbs=parse_verbs(lexicon.OBJECT_VERBS[name]),
            adjectives=tuple(lexicon.KIND_ADJECTIVES[name].split()),
        )
        for name in lexicon.NOUNS
    )


def halves(items: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The words of the train sets, the first TRAIN_SHARE of `items`, and the rest."""
    cut = round(TRAIN_SHARE * len(items))
    return tuple(items[:cut]), tuple(items[cut:])


def _words(
    draw: Draw, nouns: dict[Kind, tuple[str, ...]], others: dict[str, tuple[str, ...]]
) -> Words:
    """The words of one split; all concepts of a kind have different colours and cities."""
    concepts = []
    for kind, synonyms in nouns.items():
        colours, cities = draw.order(others["colours"]), draw.order(others["cities"])
        for pair, colour, city in zip(synonyms, colours, cities, strict=False):
            one, other = pair.split("/")
            plurals = (inflect(one), inflect(other))
            concepts.append(Concept((one, other), plurals, kind, colour, city))
    return Words(tuple(concepts), **others)
