"""The source of random material for the texts of a world."""

from dataclasses import dataclass

from harness.data.microworld.morphology import HE, SHE, Pronouns, Verb, with_article
from harness.data.microworld.random_draws import Draw
from harness.data.microworld.world import Concept, Kind, Words, World

Texts = tuple[str, ...]
"""The texts of an example."""


@dataclass(frozen=True)
class Sampler:
    """Draws concepts, persons and phrases from the words of a world."""

    draw: Draw
    world: World
    words: Words
    """The open words that may be used: those of one split, or of all."""

    def concept(self) -> Concept:
        """Any concept."""
        return self.draw.pick(self.words.concepts)

    def names(self, concept: Concept) -> list[str]:
        """The two synonyms of a concept in random order."""
        return self.draw.order(concept.names)

    def sibling(self, concept: Concept) -> Concept:
        """Another concept of the same kind."""
        return self.draw.pick(
            [c for c in self.words.concepts if c.kind is concept.kind and c is not concept]
        )

    def stranger(self, concept: Concept) -> Concept:
        """A concept of another kind."""
        return self.draw.pick([c for c in self.words.concepts if c.kind is not concept.kind])

    def distinct(self, size: int) -> list[Concept]:
        """`size` concepts of different kinds (at most six)."""
        kinds = self.draw.order(self.world.kinds)[:size]
        return [self.member(kind) for kind in kinds]

    def member(self, kind: Kind) -> Concept:
        """Any concept of this kind."""
        return self.draw.pick(self.words.members(kind))

    def deed(self) -> str:
        """The past form of a verb that takes any object."""
        return self.draw.pick(self.world.verbs).past

    def person(self) -> tuple[str, Pronouns]:
        """The name of a person with the pronouns that refer to it."""
        woman = self.draw.chance(0.5)
        names = self.words.women if woman else self.words.men
        return self.draw.pick(names), SHE if woman else HE

    def mention(self, name: str, kind: Kind) -> str:
        """A noun phrase for a thing: its name or its kind."""
        return f"the {name}" if self.draw.chance(0.5) else with_article(kind.name)

    def event(self, person: str, verb: Verb, thing: str) -> str:
        """An active or a passive sentence: what a person did to a thing."""
        return f"{self.draw.pick(verb.voices(person, thing))}."

    def predicate(self, kind: Kind) -> str:
        """A past predicate, active or passive, that only members of this kind take."""
        return self.draw.pick(
            [verb.past for verb in kind.subject_verbs]
            + [f"was {verb.participle}" for verb in kind.object_verbs]
        )
