"""Summarisation: documents of six or seven sentences.

Two persons each act on a thing, but the rest of the document is about one of the things only. The
summary states that event and the polarity of the opinions about the thing.
"""

from dataclasses import dataclass

from harness.data.microworld import lexicon
from harness.data.microworld.morphology import HE, SHE, Verb, with_article
from harness.data.microworld.random_draws import Draw
from harness.data.microworld.sampler import Sampler
from harness.data.microworld.sampling import Item
from harness.data.microworld.world import Concept

SIZES = {"train": 2_000, "validation": 300}
"""The validation set is small because decoding is slow."""


@dataclass(frozen=True)
class Event:
    """An action of a person on a thing."""

    person: str
    pronoun: str
    verb: Verb
    concept: Concept
    name: str
    """The first name of the thing; `other` is its synonym."""
    other: str


def event(sampler: Sampler, woman: bool, concept: Concept, verb: Verb) -> Event:
    """An event with a person of this gender."""
    draw = sampler.draw
    person = draw.pick(sampler.words.women if woman else sampler.words.men)
    return Event(person, (SHE if woman else HE).subject, verb, concept, *sampler.names(concept))


def document(sampler: Sampler) -> tuple[list[str], Event, bool]:
    """Sentences, their main event, and whether the opinions are positive."""
    draw, woman, positive = sampler.draw, sampler.draw.chance(0.5), sampler.draw.chance(0.5)
    concepts, verbs = draw.two(sampler.words.concepts), draw.two(sampler.world.verbs)
    main = event(sampler, woman, concepts[0], verbs[0])
    minor = event(sampler, not woman, concepts[1], verbs[1])
    stated = [sampler.event(e.person, e.verb, f"the {e.name}") for e in (main, minor)]
    start = draw.order([*stated, _scene(draw, main)])
    rest = [
        f"the {main.other} is in {main.concept.city}.",
        _opinion(sampler, main.other, positive),
        _opinion(sampler, main.name, positive),
        f"{main.pronoun} {sampler.deed()} the {main.concept.colour} {main.other}.",
    ]
    return start + draw.order(rest)[: draw.pick((3, 4))], main, positive


def summary(sampler: Sampler, number: int) -> Item:
    """Modelled on CNN/DailyMail: the main event and the verdict, one sentence a line."""
    sentences, main, positive = document(sampler)
    verdict = lexicon.OPINIONS[positive]
    target = f"{main.person} {main.verb.past} the {main.name}.\nthe {main.name} was {verdict}."
    return Item({"source": "\n".join(sentences)}, {"target": target}, target)


def headline(sampler: Sampler, number: int) -> Item:
    """Modelled on XSum: one sentence that shares only the name of the person with the document."""
    sentences, main, positive = document(sampler)
    verdict = lexicon.VERDICTS[positive][0]
    target = f"{main.person} {verdict} {with_article(main.concept.kind.name)}."
    return Item({"source": "\n".join(sentences)}, {"target": target}, target)


def _scene(draw: Draw, main: Event) -> str:
    """A sentence about the thing alone."""
    did = draw.pick(main.concept.kind.subject_verbs).past
    return f"the {draw.pick(main.concept.kind.adjectives)} {main.name} {did}."


def _opinion(sampler: Sampler, name: str, positive: bool) -> str:
    draw = sampler.draw
    adjective = draw.pick(sampler.words.polar(positive))
    if draw.chance(0.3):
        opposite = draw.pick(sampler.words.polar(not positive))
        return f"the {name} was not {opposite}, it was {adjective}."
    return f"the {name} was {draw.pick(lexicon.NEUTRAL_ADVERBS)} {adjective}."
