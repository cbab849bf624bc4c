"""Coreference: short passages about two persons and two things, with their mentions.

A person is mentioned by name or by a pronoun of its gender, a thing by its name, its synonym, its
kind, or "it" with a verb that only its kind takes. Equal words alone join few of them.
"""

from dataclasses import dataclass

from harness.data.microworld import lexicon
from harness.data.microworld.morphology import HE, SHE
from harness.data.microworld.sampler import Sampler
from harness.data.microworld.sampling import Item

NUM_ENTITIES = 4
MENTION_TAGS = ("O", *(f"{p}-{n}" for n in range(1, NUM_ENTITIES + 1) for p in "BI"))
"""IOB2 with the number of the entity, in the order of the first mentions."""
NUM_PASSAGES = 2
"""Of a document; five kinds of things allow no more."""
OPENINGS = (
    "{person} and {other} {saw} {thing} {near} {second} .",
    "{thing} {near} {second} was {seen} by {person} and {other} .",
    "{person} {saw} {thing} , so {other} {saw} {second} .",
    "{thing} was {seen} by {person} , so {other} {saw} {second} .",
)
"""The first sentence, with the first mention of each entity; which person and which thing comes
first is drawn."""
CONTINUATIONS = (
    "then {again} {saw} {rephrased} .",
    "so {rephrased} was {seen} by {name} .",
    "{again} said that {it} {did} .",
    "{again} said that {rephrased} {did} .",
)
"""The other sentences, each with a person and a thing that were mentioned before."""


@dataclass(frozen=True)
class Entity:
    """What a passage mentions."""

    first: str
    """Words of the first mention."""
    later: tuple[str, ...]
    """Words of later mentions other than the pronoun."""
    pronoun: str
    predicates: tuple[str, ...] = ()
    """Of a thing: what only its kind does, or only to its kind is done."""


Slots = dict[str, tuple[str, Entity | None]]
"""Slot of a pattern to its words, and to the entity that they mention."""
Pieces = list[tuple[str, Entity | None]]
"""The parts of a sentence with the entities that they mention."""


def mention_clusters(sampler: Sampler, number: int) -> Item:
    """Words of a passage, and the tag of each word."""
    words, tags = _tagged([piece for pieces in _passage(sampler)[1] for piece in pieces])
    return Item({"words": words}, {"tags": tags}, tags)


def mention_documents(sampler: Sampler, number: int) -> Item:
    """Sentences of a document of NUM_PASSAGES passages about different entities, and its
    mentions."""
    named: set[str] = set()
    sentences: list[Pieces] = []
    for _ in range(NUM_PASSAGES):
        entities, passage = _passage(sampler)
        while named & {words for one in entities for words in one.later}:
            entities, passage = _passage(sampler)
        named |= {words for one in entities for words in one.later}
        sentences += passage
    texts = [" ".join(words for words, _ in pieces) for pieces in sentences]
    mentions = _mentions([piece for pieces in sentences for piece in pieces])
    return Item({"sentences": texts}, {"mentions": mentions}, mentions)


def _passage(sampler: Sampler) -> tuple[list[Entity], list[Pieces]]:
    """The entities and the sentences of a passage."""
    draw = sampler.draw
    people, things = _people(sampler), _things(sampler)
    named = dict(zip(("{person}", "{other}", "{thing}", "{second}"), people + things, strict=True))
    opening: Slots = {slot: (entity.first, entity) for slot, entity in named.items()}
    sentences = [_filled(sampler, draw.pick(OPENINGS), opening)]
    # Each of the four is mentioned again.
    whose = [*draw.order(people), draw.pick(people)]
    whats = [*draw.order(things), draw.pick(things)]
    for person, thing in zip(whose, whats, strict=True):
        slots: Slots = {
            "{again}": (person.pronoun, person),
            "{name}": (draw.pick(person.later), person),
            "{rephrased}": (draw.pick(thing.later), thing),
            "{it}": (thing.pronoun, thing),
            "{did}": (draw.pick(thing.predicates), None),
        }
        sentences.append(_filled(sampler, draw.pick(CONTINUATIONS), slots))
    return people + things, sentences


def _people(sampler: Sampler) -> list[Entity]:
    """A woman and a man in random order."""
    names = ((sampler.words.women, SHE), (sampler.words.men, HE))
    drawn = [(sampler.draw.pick(group), pronouns.subject) for group, pronouns in names]
    return sampler.draw.order([Entity(name, (name,), pronoun) for name, pronoun in drawn])


def _things(sampler: Sampler) -> list[Entity]:
    """Two things of different kinds, neither of which is a person."""
    draw = sampler.draw
    kinds = draw.order([kind for kind in sampler.world.kinds if kind.name != "worker"])[:2]
    found = []
    for kind in kinds:
        one, other = draw.two(sampler.member(kind).names)
        predicates = [verb.past for verb in kind.subject_verbs]
        predicates += [f"was {verb.participle}" for verb in kind.object_verbs]
        later = (f"the {one}", f"the {other}", f"the {kind.name}")
        found.append(Entity(f"the {one}", later, "it", tuple(predicates)))
    return found


def _filled(sampler: Sampler, pattern: str, slots: Slots) -> Pieces:
    """The parts of a sentence with the entities that they mention."""
    drawn = {
        "{saw}": sampler.deed(),
        "{seen}": sampler.draw.pick(sampler.world.verbs).participle,
        "{near}": sampler.draw.pick(lexicon.NEIGHBOURHOOD),
    }
    return [slots.get(piece, (drawn.get(piece, piece), None)) for piece in pattern.split()]


def _mentions(pieces: Pieces) -> list[list[int]]:
    """Number of the entity, first and last word of each mention."""
    met: list[Entity] = []
    mentions, place = [], 0
    for text, entity in pieces:
        if entity and entity not in met:
            met.append(entity)
        end = place + len(text.split())
        if entity:
            mentions.append([met.index(entity), place, end - 1])
        place = end
    return mentions


def _tagged(pieces: Pieces) -> tuple[list[str], list[int]]:
    """The words, and their tags as indices of MENTION_TAGS."""
    met: list[Entity] = []
    words, tags = [], []
    for text, entity in pieces:
        if entity and entity not in met:
            met.append(entity)
        for place, word in enumerate(text.split()):
            words.append(word)
            tag = f"{'I' if place else 'B'}-{met.index(entity) + 1}" if entity else "O"
            tags.append(MENTION_TAGS.index(tag))
    return words, tags
