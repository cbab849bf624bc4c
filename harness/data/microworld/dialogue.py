"""Modelled on response selection, as on the Ubuntu Dialogue Corpus: which of four responses belongs
to a dialogue of two or three turns?

The four are two subjects times two statements: the correct response, one that contradicts it, the
response of another dialogue, and the rest. Each subject and each statement is as often wrong as
right.
"""

from harness.data.microworld import lexicon
from harness.data.microworld.continuation import Endings, item_of
from harness.data.microworld.morphology import HE, SHE, with_article
from harness.data.microworld.sampler import Sampler
from harness.data.microworld.sampling import Item
from harness.data.microworld.world import Concept


def fact(sampler: Sampler) -> Endings:
    """A question about the last thing mentioned, its kind, colour or city; the response names it by
    its synonym."""
    draw = sampler.draw
    question, frame, value = draw.pick(
        (
            ("what is it?", "the {} is {}.", lambda c: with_article(c.kind.name)),
            ("what colour is it?", "the {} is {}.", lambda c: c.colour),
            ("where is it?", "the {} is in {}.", lambda c: c.city),
        )
    )
    concept = sampler.concept()
    other = sampler.stranger(concept)
    while value(other) == value(concept):
        other = sampler.stranger(concept)
    name, synonym = sampler.names(concept)
    turns = [f"{draw.pick(sampler.words.people)} {sampler.deed()} the {name}.", question]
    nouns = (synonym, draw.pick(other.names))
    return _dialogue(sampler, turns), [
        frame.format(noun, value(one)) for noun in nouns for one in (concept, other)
    ]


def doer(sampler: Sampler) -> Endings:
    """A question about who did something to one of two things; the response names the thing by its
    synonym."""
    draw, people = sampler.draw, sampler.draw.two(sampler.words.people)
    verb = draw.pick(sampler.world.verbs)
    things = [sampler.names(concept) for concept in sampler.distinct(2)]
    events = [
        f"{person} {verb.past} the {name}."
        for person, (name, _) in zip(people, things, strict=True)
    ]
    question = f"who {verb.past} the {things[0][0]}?"
    responses = [
        f"the {synonym} was {verb.participle} by {person}."
        for _, synonym in things
        for person in people
    ]
    return " ".join([*draw.order(events), question]), responses


def opinion(sampler: Sampler) -> Endings:
    """A question about what is liked or not; the response has the same topic and polarity."""
    draw, positive, film = sampler.draw, sampler.draw.chance(0.5), sampler.draw.chance(0.5)
    item = "film" if film else draw.pick(_dish(sampler).names)
    topics = (lexicon.FILM_ASPECTS, lexicon.FOOD_ASPECTS)
    verdict = draw.pick(lexicon.VERDICTS[positive])
    turns = [f"i {verdict} this {item}.", f"what was {lexicon.OPINIONS[positive]}?"]
    return _dialogue(sampler, turns), [
        f"the {draw.pick(aspects)} was {draw.pick(sampler.words.polar(same == positive))}."
        for aspects in (topics if film else topics[::-1])
        for same in (True, False)
    ]


def deed(sampler: Sampler) -> Endings:
    """A question about what a person did to a thing; the pronoun fits the person, and the verb the
    thing."""
    draw, (person, fits) = sampler.draw, sampler.person()
    kind, other = (concept.kind for concept in sampler.distinct(2))
    name = draw.pick(sampler.member(kind).names)
    turns = [f"{person} {sampler.deed()} the {name}.", "and then?"]
    verbs = [draw.pick(one.object_verbs).past for one in (kind, other)]
    pronouns = (fits.subject, (HE if fits is SHE else SHE).subject)
    return _dialogue(sampler, turns), [
        f"then {pronoun} {verb} it." for pronoun in pronouns for verb in verbs
    ]


PATTERNS = (fact, doer, opinion, deed)


def response(sampler: Sampler, number: int) -> Item:
    """An example of any pattern; the correct response is in each position equally often."""
    return item_of(sampler, number, PATTERNS, "dialogue")


def _dish(sampler: Sampler) -> Concept:
    return sampler.draw.pick([c for c in sampler.words.concepts if c.kind.name == "dish"])


def _dialogue(sampler: Sampler, turns: list[str]) -> str:
    """The turns, half of the time after one on another matter."""
    draw = sampler.draw
    if draw.chance(0.5):
        first = f"{draw.pick(sampler.words.people)} was in {draw.pick(sampler.words.cities)}."
        turns = [first, *turns]
    return " ".join(turns)
