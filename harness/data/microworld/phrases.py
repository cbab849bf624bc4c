"""Phrases of the corpus: what an author fills the sentence patterns of the genres with."""

from harness.data.microworld import lexicon
from harness.data.microworld.grammar import HE, SHE, Pronouns, with_article
from harness.data.microworld.random_draws import Draw
from harness.data.microworld.world import Concept, World

CUE = 0.9
"""Share of the polar adjectives that stand beside an adverb of their polarity, which is what
teaches them: only the neighbourhood of a word is learned from a million words."""
DESCRIBED = 0.7
"""Share of the noun phrases with an adjective that goes with the noun."""
SPECIFIC = 0.5
"""Share of the events whose verb goes with one kind of object only."""


class Author:
    """Draws phrases in the words of a world."""

    def __init__(self, draw: Draw, world: World) -> None:
        self.draw = draw
        self.world = world
        self.words = world.words

    def slots(self, concept: Concept) -> dict[str, str]:
        """What the patterns about a concept may name; each synonym comes first half of the time."""
        draw, kind = self.draw, concept.kind
        one, other = draw.two(concept.names)
        many, more = draw.two(concept.plurals)
        verb = draw.pick(kind.subject_verbs)
        return {
            "one": one,
            "a_one": with_article(one),
            "other": other,
            "an_other": with_article(other),
            "many": many,
            "more": more,
            "described": self.described(concept, one),
            "kind": kind.name,
            "a_kind": with_article(kind.name),
            "kinds": kind.plural,
            "colour": concept.colour,
            "city": concept.city,
            "adjective": draw.pick(kind.adjectives),
            "does": verb.third,
            "do": verb.base,
            "did": verb.past,
            "handle": draw.pick(kind.object_verbs).base,
            "nearby": self.nearby(),
        }

    def described(self, concept: Concept, name: str) -> str:
        """The name, mostly with an adjective that fits the concept."""
        if not self.draw.chance(DESCRIBED):
            return name
        colour_or_more = (concept.colour, self.draw.pick(concept.kind.adjectives))
        return f"{self.draw.pick(colour_or_more)} {name}"

    def nearby(self) -> str:
        """A phrase with another noun of either number, between a subject and its verb."""
        other = self.draw.pick(self.words.concepts)
        name = self.draw.pick(other.names + other.plurals)
        return f"{self.draw.pick(lexicon.NEIGHBOURHOOD)} the {name}"

    def polar(self, positive: bool) -> str:
        """An adjective of a polarity after an adverb that mostly gives it away."""
        cued = self.draw.chance(CUE)
        adverbs = lexicon.ADVERBS[positive] if cued else lexicon.NEUTRAL_ADVERBS
        return f"{self.draw.pick(adverbs)} {self.draw.pick(self.words.polar(positive))}"

    def person(self) -> tuple[str, Pronouns]:
        """A name, and how one speaks of its bearer."""
        woman = self.draw.chance(0.5)
        names = self.words.women if woman else self.words.men
        return self.draw.pick(names), SHE if woman else HE

    def deed(self) -> str:
        """What a person did to something: a verb of any object, in the past."""
        return self.draw.pick(self.world.verbs).past
