"""A tag a word: named entities (after CoNLL-2003) and parts of speech (after the Penn Treebank).

Names, cities and dishes stand in the same places, so that only the words tell them apart.
"""

from collections.abc import Callable

from harness.data.microworld import lexicon
from harness.data.microworld.grammar import HE, SHE
from harness.data.microworld.sampling import Item
from harness.data.microworld.sentence_tasks import Examiner

ENTITY_TAGS = ("O", "B-PER", "I-PER", "B-LOC", "B-DISH", "I-DISH")
"""IOB2. The titles before names and the adjectives before dishes belong to them; no city has two
words, so that no I-LOC is needed."""
POS_TAGS = tuple("NN NNS NNP VBD VBN VBP VBZ JJ RB DT IN CC PRP PRP$ WP , .".split())
"""Of the Penn Treebank."""

Phrase = tuple[str, str]
"""Words between spaces, and their type: PER, LOC, DISH, or nothing."""


def person(examiner: Examiner) -> Phrase:
    """A name, at times after a title."""
    draw, name = examiner.draw, examiner.draw.pick(examiner.words.people)
    if not draw.chance(0.3):
        return name, "PER"
    workers = [c for c in examiner.words.concepts if c.kind.name == "worker"]
    return f"{draw.pick(draw.pick(workers).names)} {name}", "PER"


def city(examiner: Examiner) -> Phrase:
    """A city."""
    return examiner.draw.pick(examiner.words.cities), "LOC"


def name(examiner: Examiner) -> Phrase:
    """A person or a city."""
    return examiner.draw.pick((person, city))(examiner)


def thing(examiner: Examiner) -> Phrase:
    """A noun, at times after an adjective; most often a dish."""
    draw = examiner.draw
    dish = draw.chance(0.4)
    concept = draw.pick([c for c in examiner.words.concepts if (c.kind.name == "dish") == dish])
    words = draw.pick(concept.names)
    if draw.chance(0.4):
        words = f"{draw.pick((concept.colour, *concept.kind.adjectives))} {words}"
    return words, "DISH" if dish else ""


SLOTS: dict[str, Callable[[Examiner], Phrase]] = {
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


def entities(examiner: Examiner, number: int) -> Item:
    """Which words name persons, cities and dishes?"""
    tokens: list[str] = []
    tags: list[int] = []
    for piece in examiner.draw.pick(ENTITY_PATTERNS).split():
        words, kind = SLOTS[piece](examiner) if piece in SLOTS else (piece, "")
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
    # Only the words tell here, not their places:
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
"""Words with their tags; `_speech` names the slots."""


def parts_of_speech(examiner: Examiner, number: int) -> Item:
    """Of which part of speech is each word?"""
    pieces = examiner.draw.pick(POS_PATTERNS).split()
    slots = _speech(examiner)
    tokens, tags = [], []
    for word, _, tag in (piece.rpartition("/") for piece in pieces):
        options = slots.get(word.strip("{}"))
        tokens.append(examiner.draw.pick(options) if options else word)
        tags.append(POS_TAGS.index(tag))
    return Item({"tokens": tokens}, {"tags": tags}, tags)


def _speech(examiner: Examiner) -> dict[str, tuple[str, ...]]:
    """Slot to the words that may fill it, for sentences about one concept."""
    words, verbs, draw = examiner.words, examiner.world.verbs, examiner.draw
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
