"""Makers of questions about passages, and of multiple choices.

A passage tells who did one and the same thing to what. Questions call those things by other names,
so that the answer needs the synonyms or the kinds as well as the passage.
"""

from dataclasses import dataclass

from harness.data.microworld.entities import cast, mention, predicate
from harness.data.microworld.grammar import Verb
from harness.data.microworld.labelled import NUM_SIZES
from harness.data.microworld.random_draws import Draw
from harness.data.microworld.sentence_tasks import Examiner, Texts
from harness.data.microworld.world import Concept

NUM_ANSWERS = 3
"""Answers to each question of `answers`: one or two of them are right."""
FEWEST = 3
"""Persons in the shortest passage of `filling`; the longest has NUM_SIZES - 1 more."""


@dataclass(frozen=True)
class Event:
    """What a person did to a thing."""

    person: str
    verb: Verb
    concept: Concept
    name: str
    """What the passage calls the thing."""
    again: str
    """What a question calls it: the other name or the kind, with an article."""

    def told(self, draw: Draw) -> str:
        """As a sentence, active or passive."""
        active = f"{self.person} {self.verb.past} the {self.name}."
        passive = f"the {self.name} was {self.verb.participle} by {self.person}."
        return draw.pick((active, passive))


def events(examiner: Examiner, people: list[str]) -> list[Event]:
    """One event for each of the people, with things of different kinds and the same verb."""
    draw, verb = examiner.draw, examiner.draw.pick(examiner.world.verbs)
    made = []
    for person, concept in zip(people, cast(examiner, len(people)), strict=True):
        name, other = examiner.names(concept)
        made.append(Event(person, verb, concept, name, mention(draw, other, concept.kind)))
    return made


def passage(draw: Draw, told: list[Event]) -> str:
    """The events in random order."""
    return " ".join(event.told(draw) for event in draw.order(told))


def yes_or_no(examiner: Examiner, label: int) -> Texts:
    """After BoolQ: is the answer to the question yes? 1 yes, 0 no."""
    draw = examiner.draw
    size = draw.pick((2, 3, 4))
    told = events(examiner, draw.order(examiner.words.people)[:size])
    asked, other = draw.two(told)
    person = asked.person if label else other.person
    question = f"was {asked.again} {asked.verb.participle} by {person}?"
    return (passage(draw, told), question)


def answers(examiner: Examiner, num_right: int) -> Texts:
    """After MultiRC: a passage, a question, and three answers, the right ones first.

    The passage always tells two things of each of two persons, so that counting gives nothing away.
    """
    draw = examiner.draw
    asked, other = draw.two(examiner.words.people)
    told = events(examiner, [asked, asked, other, other])
    question = f"what was {told[0].verb.participle} by {asked}?"
    shown = told[:num_right] + told[2:][: NUM_ANSWERS - num_right]
    return (passage(draw, told), question, *(f"{event.again}." for event in shown))


def filling(examiner: Examiner, number: int) -> Texts:
    """After ReCoRD: a passage, then a sentence filled with each of its entities, the right first.

    The entities are all persons of the passage, or all its things: three, four or five.
    """
    draw = examiner.draw
    people = draw.order(examiner.words.people)[: FEWEST + number % NUM_SIZES]
    told = events(examiner, people)
    right = told[0]
    if draw.chance(0.5):
        query = f"{right.again} was {right.verb.participle} by {{}}."
        entities = people
    else:
        query = f"then the {{}} {predicate(draw, right.concept.kind)}."
        entities = [event.name for event in told]
    return (passage(draw, told), *(query.format(entity) for entity in entities))


def plausible(examiner: Examiner, number: int) -> Texts:
    """After COPA: what happened, then what may follow from it, first the likelier one."""
    draw = examiner.draw
    right, wrong = cast(examiner, 2)
    person, verb = draw.pick(examiner.words.people), draw.pick(examiner.world.verbs)
    name, other = examiner.names(right)
    thing, end = f"the {name}", f"was {verb.participle} by {person}."
    if draw.chance(0.5):
        ends = (predicate(draw, right.kind), predicate(draw, wrong.kind))
        choices = [f"so it {end}." for end in ends]
    else:
        choices = [f"so the {noun} {end}" for noun in (other, draw.pick(wrong.names))]
        if draw.chance(0.5):
            thing = f"something {draw.pick(right.kind.adjectives)}"
    return (f"{person} {verb.past} {thing}.", *choices)
