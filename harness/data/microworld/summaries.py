"""What is a text about? A document of six or seven sentences and its summary.

Two persons each do something to a thing, but the document goes on about one of the two things only.
That one is summarised, with the verdict that the opinions about it amount to.
"""

from dataclasses import dataclass

from harness.data.microworld import lexicon
from harness.data.microworld.grammar import HE, SHE, Verb, with_article
from harness.data.microworld.random_draws import Draw
from harness.data.microworld.sampling import Item
from harness.data.microworld.sentence_tasks import Examiner
from harness.data.microworld.world import Concept

SIZES = {"train": 2_000, "validation": 300}
"""Decoding is slow."""


@dataclass(frozen=True)
class Event:
    """Somebody does something to a thing."""

    person: str
    pronoun: str
    verb: Verb
    concept: Concept
    name: str
    """What the thing is called at first."""
    other: str


def event(examiner: Examiner, woman: bool, concept: Concept, verb: Verb) -> Event:
    """An event with a person of this gender."""
    draw = examiner.draw
    person = draw.pick(examiner.words.women if woman else examiner.words.men)
    return Event(person, (SHE if woman else HE).subject, verb, concept, *examiner.names(concept))


def document(examiner: Examiner) -> tuple[list[str], Event, bool]:
    """Sentences, the event that they are about, and whether the thing was good."""
    draw, woman, positive = examiner.draw, examiner.draw.chance(0.5), examiner.draw.chance(0.5)
    concepts, verbs = draw.two(examiner.words.concepts), draw.two(examiner.world.verbs)
    main = event(examiner, woman, concepts[0], verbs[0])
    minor = event(examiner, not woman, concepts[1], verbs[1])
    start = draw.order([_told(draw, main), _told(draw, minor), _scene(draw, main)])
    rest = [
        f"the {main.other} is in {main.concept.city}.",
        _opinion(examiner, main.other, positive),
        _opinion(examiner, main.name, positive),
        f"{main.pronoun} {_deed(examiner)} the {main.concept.colour} {main.other}.",
    ]
    return start + draw.order(rest)[: draw.pick((3, 4))], main, positive


def summary(examiner: Examiner, number: int) -> Item:
    """Two sentences on what happened and what it was like (one a line, as in the document)."""
    sentences, main, positive = document(examiner)
    verdict = lexicon.OPINIONS[positive]
    target = f"{main.person} {main.verb.past} the {main.name}.\nthe {main.name} was {verdict}."
    return Item({"source": "\n".join(sentences)}, {"target": target}, target)


def headline(examiner: Examiner, number: int) -> Item:
    """After XSum: one sentence in general words, none of which the document has but the name."""
    sentences, main, positive = document(examiner)
    verdict = lexicon.VERDICTS[positive][0]
    target = f"{main.person} {verdict} {with_article(main.concept.kind.name)}."
    return Item({"source": "\n".join(sentences)}, {"target": target}, target)


def _told(draw: Draw, happened: Event) -> str:
    person, name, verb = happened.person, happened.name, happened.verb
    voices = (f"{person} {verb.past} the {name}.", f"the {name} was {verb.participle} by {person}.")
    return draw.pick(voices)


def _scene(draw: Draw, main: Event) -> str:
    """A sentence of the thing alone."""
    did = draw.pick(main.concept.kind.subject_verbs).past
    return f"the {draw.pick(main.concept.kind.adjectives)} {main.name} {did}."


def _opinion(examiner: Examiner, name: str, positive: bool) -> str:
    draw = examiner.draw
    adjective = draw.pick(examiner.words.polar(positive))
    if draw.chance(0.3):
        opposite = draw.pick(examiner.words.polar(not positive))
        return f"the {name} was not {opposite}, it was {adjective}."
    return f"the {name} was {draw.pick(lexicon.NEUTRAL_ADVERBS)} {adjective}."


def _deed(examiner: Examiner) -> str:
    return examiner.draw.pick(examiner.world.verbs).past
