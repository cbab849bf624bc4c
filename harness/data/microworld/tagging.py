"""Sequence tagging: named entities (CoNLL-2003) and parts of speech (Penn Treebank).

Names, cities and dishes occur in the same positions, so that only the words distinguish them.
"""

from collections.abc import Callable

from harness.data.microworld import lexicon
from harness.data.microworld.morphology import HE, SHE
from harness.data.microworld.sampler import Sampler
from harness.data.microworld.sampling import Item

ENTITY_TAGS = ("O", "B-PER", "I-PER", "B-LOC", "B-DISH", "I-DISH")
"""IOB2. Titles and adjectives belong to the entity; cities have one word, so there is no I-LOC."""
POS_TAGS = tuple("NN NNS NNP VBD VBN VBP VBZ JJ RB DT IN CC PRP PRP$ WP , .".split())
"""Of the Penn Treebank."""

Phrase = tuple[str, str]
"""Words separated by spaces, and their type: PER, LOC, DISH or empty."""


def person(sampler: Sampler) -> Phrase:
    """A name, sometimes after a title."""
    draw, name = sampler.draw, sampler.draw.pick(sampler.words.people)
    if not draw.chance(0.3):
        return name, "PER"
    workers = [c for c in sampler.words.concepts if c.kind.name == "worker"]
    return f"{draw.pick(draw.pick(workers).names)} {name}", "PER"


def city(sampler: Sampler) -> Phrase:
    """A city."""
    return sampler.draw.pick(sampler.words.cities), "LOC"


def name(sampler: Sampler) -> Phrase:
    """A person or a city."""
    return sampler.draw.pick((person, city))(sampler)


def thing(sampler: Sampler) -> Phrase:
    """A noun, sometimes after an adjective; in 40 % of the cases a dish."""
    draw = sampler.draw
    dish = draw.chance(0.4)
    concept = draw.pick([c for c in sampler.words.concepts if (c.kind.name == "dish") == dish])
    words = draw.pick(concept.names)
    if draw.chance(0.4):
        words = f"{draw.pick((concept.colour, *concept.kind.adjectives))} {words}"
    return words, "DISH" if dish else ""


SLOTS: dict[str, Callable[[Sampler], Phrase]] = {
    "{person}": person,
    "{city}": city,
    "{name}": name,
    "{thing}": thing,
    "{saw}": lambda e: (e.draw.pick(e.world.verbs).past, ""),
    "{seen}": lambda e: (e.draw.pick(e.world.verbs).participle, ""),
    "{near}": lambda e: (e.draw.pick(lexicon.NEIGHBOURHOOD), ""),
    "{colour}": lambda e: (e.draw.pick(e.words.colours), ""),
}
ENTITY_PATTERNS = (
    "{person} {saw} the {thing} .",
    "{person} {saw} {name} .",
    "{name} was {seen} by {person} .",
    "the {thing} {near} the {thing} was {seen} by {person} .",
    "the {thing} {near} {name} is {colour} .",
    "as for the {thing} , {name} .",
    "who {saw} {name} ? {person} .",
    "{name} , {name} and {name} were {seen} .",
    "the {thing} is in {city} .",
)


def entities(sampler: Sampler, number: int) -> Item:
    """Tokens with the tags of persons, cities and dishes."""
    tokens: list[str] = []
    tags: list[int] = []
    for piece in sampler.draw.pick(ENTITY_PATTERNS).split():
        words, kind = SLOTS[piece](sampler) if piece in SLOTS else (piece, "")
        for place, word in enumerate(words.split()):
            tag = f"{'I' if place else 'B'}-{kind}" if kind else "O"
            tokens.append(word)
            tags.append(ENTITY_TAGS.index(tag))
    return Item({"tokens": tokens}, {"tags": tags}, tags)


POS_PATTERNS = (
    "{person}/NNP {saw}/VBD the/DT {adjective}/JJ {noun}/NN ./.",
    "the/DT {noun}/NN {near}/IN the/DT {others}/NNS {does}/VBZ ./.",
    "these/DT {nouns}/NNS {near}/IN {city}/NNP {do}/VBP ./.",
    "{adjective}/JJ {nouns}/NNS {do}/VBP ./.",
    "{person}/NNP ,/, {person}/NNP and/CC {subject}/PRP {did}/VBD ./.",
    "the/DT {noun}/NN was/VBD {adverb}/RB {polar}/JJ ./.",
    "the/DT {polar}/JJ {noun}/NN was/VBD {seen}/VBN by/IN {person}/NNP ./.",
    "the/DT {noun}/NN was/VBD {seen}/VBN in/IN {city}/NNP ./.",
    "{kinds}/NNS such/JJ as/IN {nouns}/NNS are/VBP {adverb}/RB {polar}/JJ ./.",
    "most/JJ {nouns}/NNS are/VBP {colour}/JJ ,/, {polar}/JJ and/CC {adjective}/JJ ./.",
    "{subject}/PRP {saw}/VBD {possessive}/PRP$ {polar}/JJ {noun}/NN ./.",
    "who/WP {saw}/VBD {nouns}/NNS in/IN {city}/NNP ?/.",
    # Only the words, not their positions, determine these tags:
    "as/IN for/IN the/DT {noun}/NN ,/, {colour}/JJ ./.",
    "as/IN for/IN the/DT {noun}/NN ,/, {city}/NNP ./.",
    "as/IN for/IN the/DT {noun}/NN ,/, {person}/NNP ./.",
    "{person}/NNP {saw}/VBD {others}/NNS ./.",
    "{others}/NNS {saw}/VBD {person}/NNP ./.",
    "{person}/NNP ,/, {city}/NNP and/CC {others}/NNS were/VBD {seen}/VBN ./.",
    "{others}/NNS ,/, {person}/NNP and/CC {city}/NNP were/VBD {seen}/VBN ./.",
    "{polar}/JJ {nouns}/NNS were/VBD {seen}/VBN ./.",
    "{nouns}/NNS in/IN {city}/NNP were/VBD {polar}/JJ ./.",
    "{nouns}/NNS were/VBD {colour}/JJ ,/, {polar}/JJ and/CC {adjective}/JJ ./.",
    "the/DT {noun}/NN was/VBD {colour}/JJ ./.",
    "{person}/NNP said/VBD that/IN {subject}/PRP {saw}/VBD {city}/NNP ./.",
)
"""Words with their tags; `_fillers` lists the slots."""


def parts_of_speech(sampler: Sampler, number: int) -> Item:
    """Tokens with their parts of speech."""
    pieces = sampler.draw.pick(POS_PATTERNS).split()
    slots = _fillers(sampler)
    tokens, tags = [], []
    for word, _, tag in (piece.rpartition("/") for piece in pieces):
        options = slots.get(word.strip("{}"))
        tokens.append(sampler.draw.pick(options) if options else word)
        tags.append(POS_TAGS.index(tag))
    return Item({"tokens": tokens}, {"tags": tags}, tags)


def _fillers(sampler: Sampler) -> dict[str, tuple[str, ...]]:
    """Slot to the words that may fill it, for sentences about one concept."""
    words, verbs, draw = sampler.words, sampler.world.verbs, sampler.draw
    concept, other = draw.two(words.concepts)
    kind = concept.kind
    polarity = draw.chance(0.5)
    return {
        "person": words.people,
        "city": words.cities,
        "colour": words.colours,
        "noun": concept.names,
        "nouns": concept.plurals,
        "others": other.plurals,
        "kinds": (kind.plural,),
        "adjective": kind.adjectives,
        "polar": words.polar(polarity),
        "adverb": (*lexicon.ADVERBS[polarity], *lexicon.NEUTRAL_ADVERBS),
        "near": tuple(lexicon.NEIGHBOURHOOD),
        "subject": (SHE.subject, HE.subject),
        "possessive": (SHE.possessive, HE.possessive),
        "saw": tuple(verb.past for verb in verbs),
        "seen": tuple(verb.participle for verb in verbs + kind.object_verbs),
        "does": tuple(verb.third for verb in kind.subject_verbs),
        "do": tuple(verb.base for verb in kind.subject_verbs),
        "did": tuple(verb.past for verb in kind.subject_verbs),
    }
