"""Questions about passages, and multiple choice.

A passage states events with one verb: who did it to what. Questions refer to the things by synonym
or kind, so that answering takes knowledge of words as well as the passage.
"""

from dataclasses import dataclass

from harness.data.microworld.morphology import Verb
from harness.data.microworld.random_draws import Draw
from harness.data.microworld.sampler import Sampler, Texts
from harness.data.microworld.sampling import NUM_SIZES, DataSet, Item, noisy
from harness.data.microworld.world import Concept

NUM_ANSWERS = 3
"""Answers to each question of `answers`; one or two of them are correct."""
FEWEST = 3
"""Persons in the shortest passage of `filling`; the longest has NUM_SIZES - 1 more."""


@dataclass(frozen=True)
class Event:
    """An action of a person on a thing."""

    person: str
    verb: Verb
    concept: Concept
    name: str
    """The thing in the passage."""
    paraphrase: str
    """The thing in a question: a noun phrase with the synonym or the kind."""


def events(sampler: Sampler, people: list[str]) -> list[Event]:
    """An event for each of `people`, with one verb and things of different kinds."""
    verb = sampler.draw.pick(sampler.world.verbs)
    made = []
    for person, concept in zip(people, sampler.distinct(len(people)), strict=True):
        name, other = sampler.names(concept)
        made.append(Event(person, verb, concept, name, sampler.mention(other, concept.kind)))
    return made


def passage(sampler: Sampler, stated: list[Event]) -> str:
    """A text that states the events in random order."""
    events = sampler.draw.order(stated)
    return " ".join(sampler.event(e.person, e.verb, f"the {e.name}") for e in events)


def yes_or_no(sampler: Sampler, label: int) -> Texts:
    """Modelled on BoolQ: 1 if the answer to the question is yes, 0 if it is no."""
    draw = sampler.draw
    size = draw.pick((2, 3, 4))
    stated = events(sampler, draw.order(sampler.words.people)[:size])
    queried, other = draw.two(stated)
    person = queried.person if label else other.person
    question = f"was {queried.paraphrase} {queried.verb.participle} by {person}?"
    return (passage(sampler, stated), question)


def answers(sampler: Sampler, num_right: int) -> Texts:
    """Modelled on MultiRC: a passage, a question, and three answers, the correct ones first.

    The passage always states two events for each of two persons, so that counts reveal nothing.
    """
    draw = sampler.draw
    person, other = draw.two(sampler.words.people)
    stated = events(sampler, [person, person, other, other])
    question = f"what was {stated[0].verb.participle} by {person}?"
    shown = stated[:num_right] + stated[2:][: NUM_ANSWERS - num_right]
    return (passage(sampler, stated), question, *(f"{event.paraphrase}." for event in shown))


@dataclass(frozen=True)
class Grouped(DataSet):
    """Columns passage, question, answer, label (1 if correct) and group (the question)."""

    def made(self, split: str, world: int) -> list[Item]:
        """The examples of a split with their answers."""
        sampler = self.sampler(split, world)
        made: dict[str, list[Item]] = {}
        while len(made) < self.sizes[split] // NUM_ANSWERS:
            num_right = 1 + len(made) % (NUM_ANSWERS - 1)
            texts = answers(sampler, num_right)
            made.setdefault(texts[0], _judged(sampler.draw, texts, num_right, str(len(made))))
        return [item for group in sampler.draw.order(list(made.values())) for item in group]


def _judged(draw: Draw, texts: Texts, num_right: int, group: str) -> list[Item]:
    """One example for each answer, in random order."""
    passage, question, *shown = texts
    items = []
    for answer, right in draw.order([(a, int(i < num_right)) for i, a in enumerate(shown)]):
        inputs = {"passage": passage, "question": question, "answer": answer}
        items.append(Item(inputs, {"label": noisy(draw, right, 2), "group": group}, right))
    return items


def filling(sampler: Sampler, number: int) -> Texts:
    """Modelled on ReCoRD: a passage, then a query filled with each entity, the correct one first.

    The entities are all persons or all things of the passage: three, four or five.
    """
    draw = sampler.draw
    people = draw.order(sampler.words.people)[: FEWEST + number % NUM_SIZES]
    stated = events(sampler, people)
    right = stated[0]
    if draw.chance(0.5):
        query = f"{right.paraphrase} was {right.verb.participle} by {{}}."
        entities = people
    else:
        query = f"then the {{}} {sampler.predicate(right.concept.kind)}."
        entities = [event.name for event in stated]
    return (passage(sampler, stated), *(query.format(entity) for entity in entities))


def plausible(sampler: Sampler, number: int) -> Texts:
    """Modelled on COPA: a premise and two alternatives, the more plausible one first."""
    draw = sampler.draw
    right, wrong = sampler.distinct(2)
    person, verb = draw.pick(sampler.words.people), draw.pick(sampler.world.verbs)
    name, other = sampler.names(right)
    thing, end = f"the {name}", f"was {verb.participle} by {person}."
    if draw.chance(0.5):
        ends = (sampler.predicate(right.kind), sampler.predicate(wrong.kind))
        choices = [f"so it {end}." for end in ends]
    else:
        choices = [f"so the {noun} {end}" for noun in (other, draw.pick(wrong.names))]
        if draw.chance(0.5):
            thing = f"something {draw.pick(right.kind.adjectives)}"
    return (f"{person} {verb.past} {thing}.", *choices)
