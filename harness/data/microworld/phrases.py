"""Phrases of the corpus: the fillers of the sentence patterns of all genres."""

from harness.data.microworld import lexicon
from harness.data.microworld.morphology import with_article
from harness.data.microworld.sampler import Sampler
from harness.data.microworld.world import Concept

CUE = 0.9
"""Share of the polar adjectives next to an adverb of their polarity: from a million words, models
learn polarity from such local cues only."""
DESCRIBED = 0.7
"""Share of the noun phrases with an adjective that fits the noun."""
SPECIFIC = 0.5
"""Share of the events whose verb takes one kind of object only."""


class Author(Sampler):
    """Draws the phrases of documents."""

    def slots(self, concept: Concept) -> dict[str, str]:
        """Slot of the patterns about a concept to its filler; the synonyms are in random order."""
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
        """The name, usually after an adjective that fits the concept."""
        if not self.draw.chance(DESCRIBED):
            return name
        colour_or_more = (concept.colour, self.draw.pick(concept.kind.adjectives))
        return f"{self.draw.pick(colour_or_more)} {name}"

    def nearby(self) -> str:
        """A phrase with a noun of either number, to separate a subject from its verb."""
        other = self.concept()
        name = self.draw.pick(other.names + other.plurals)
        return f"{self.draw.pick(lexicon.NEIGHBOURHOOD)} the {name}"

    def polar(self, positive: bool) -> str:
        """An adverb and an adjective of one polarity; the adverb is sometimes neutral."""
        cued = self.draw.chance(CUE)
        adverbs = lexicon.ADVERBS[positive] if cued else lexicon.NEUTRAL_ADVERBS
        return f"{self.draw.pick(adverbs)} {self.draw.pick(self.words.polar(positive))}"
