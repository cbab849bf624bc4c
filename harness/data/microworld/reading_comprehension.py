"""Modelled on SQuAD: questions about a passage, answered by a span of it or not at all.

A passage has three to five sentences of one pattern, each with a candidate of the right type, so
that neither type nor position reveals the answer. Some questions use the synonym of a name in the
passage.

Train and dev passages share their vocabulary: with a thousand examples of two fifths of the words,
tiny models learned to match those words only. These tasks test lookup, not knowledge.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from harness.data.microworld.morphology import Verb
from harness.data.microworld.random_draws import Draw
from harness.data.microworld.sampler import Sampler
from harness.data.microworld.sampling import Item
from harness.data.microworld.world import Concept

SIZES = {"train": 3_000, "validation": 1_000}
BY_SYNONYM = 0.3
"""Share of the questions that use the synonym of the name in the passage."""
UNANSWERABLE_EVERY = 3


@dataclass(frozen=True)
class Statement:
    """A sentence of a passage, and the span of it that a question may target."""

    sentence: str
    value: str


Passage = tuple[str, list[Statement]]
"""A question, and statements of which only the first answers it."""


def colour(sampler: Sampler) -> Passage:
    """A question about the colour of a thing."""
    frames = ("the {} is {}.", "as for the {}, {}.", "the {} that {person} {deed} is {}.")
    return _fact(sampler, lambda c: c.colour, "what colour is the {}?", frames)


def city(sampler: Sampler) -> Passage:
    """A question about the city of a thing."""
    frames = ("the {} is in {}.", "as for the {}, {}.", "the {} that {person} {deed} is in {}.")
    return _fact(sampler, lambda c: c.city, "where is the {}?", frames)


def person(sampler: Sampler) -> Passage:
    """A question about the agent; distractors differ in the object or in the verb."""
    draw, (verb, other_verb) = sampler.draw, sampler.draw.two(sampler.world.verbs)
    people = draw.order(sampler.words.people)
    concepts = draw.order(sampler.words.concepts)[: _length(draw) - 1]
    events = [(who, verb, draw.pick(c.names)) for who, c in zip(people, concepts, strict=False)]
    events.append((people[-1], other_verb, draw.pick(concepts[0].names)))
    stated = [Statement(sampler.event(who, did, f"the {n}"), who) for who, did, n in events]
    name = _name_in_question(draw, concepts[0], events[0][2])
    return f"who {verb.past} the {name}?", stated


def thing(sampler: Sampler) -> Passage:
    """A question about the object; distractors differ in the agent or in the verb."""
    draw, (verb, other_verb) = sampler.draw, sampler.draw.two(sampler.world.verbs)
    people = draw.order(sampler.words.people)
    concepts = draw.order(sampler.words.concepts)[: _length(draw)]
    doers = [people[0], people[0], *people[1 : len(concepts) - 1]]
    verbs = [verb, other_verb, *[verb] * (len(concepts) - 2)]
    stated = _statements(sampler, doers, verbs, concepts)
    return f"what was {verb.participle} by {people[0]}?", stated


def member(sampler: Sampler) -> Passage:
    """A question about an object of a given kind; distractors are of other kinds."""
    draw, verb = sampler.draw, sampler.draw.pick(sampler.world.verbs)
    who, other = draw.two(sampler.words.people)
    concept = sampler.concept()
    others = [c for c in draw.order(sampler.words.concepts) if c.kind is not concept.kind]
    concepts = [concept, sampler.sibling(concept), *others[: _length(draw) - 2]]
    doers = [who, other, *[who] * (len(concepts) - 2)]
    stated = _statements(sampler, doers, [verb] * len(concepts), concepts)
    return f"what {concept.kind.name} was {verb.participle} by {who}?", stated


TOPICS = (colour, city, person, thing, member)


def answerable(sampler: Sampler, number: int) -> Item:
    """Modelled on SQuAD 1.1: the passage has the answer."""
    return _item(sampler.draw, sampler.draw.pick(TOPICS)(sampler), True)


def maybe_answerable(sampler: Sampler, number: int) -> Item:
    """Modelled on SQuAD 2.0: every third passage lacks the sentence with the answer."""
    known = number % UNANSWERABLE_EVERY != 0
    passage = sampler.draw.pick(TOPICS)(sampler)
    while not known and len(passage[1]) < 4:  # without the answer, a passage has three sentences
        passage = sampler.draw.pick(TOPICS)(sampler)
    return _item(sampler.draw, passage, known)


def _item(draw: Draw, passage: Passage, known: bool) -> Item:
    question, (answer, *distractors) = passage
    stated = draw.order([answer, *distractors] if known else distractors)
    inputs = {"question": question, "context": " ".join(one.sentence for one in stated)}
    if not known:
        return Item(inputs, {"answers": {"text": [], "answer_start": []}}, "")
    found = re.search(rf"\b{answer.value}\b", answer.sentence)
    assert found
    before = sum(len(one.sentence) + 1 for one in stated[: stated.index(answer)])
    answers = {"text": [answer.value], "answer_start": [before + found.start()]}
    return Item(inputs, {"answers": answers}, answer.value)


def _length(draw: Draw) -> int:
    """Number of sentences of a passage with its answer."""
    return draw.pick((3, 4, 5))


def _name_in_question(draw: Draw, concept: Concept, name: str) -> str:
    """The name of the concept in the passage, or its synonym."""
    one, other = concept.names
    return (other if name == one else one) if draw.chance(BY_SYNONYM) else name


def _statements(
    sampler: Sampler, doers: list[str], verbs: list[Verb], concepts: list[Concept]
) -> list[Statement]:
    names = [sampler.draw.pick(concept.names) for concept in concepts]
    events = zip(doers, verbs, names, strict=True)
    return [Statement(sampler.event(who, did, f"the {n}"), n) for who, did, n in events]


def _fact(
    sampler: Sampler, value: Callable[[Concept], str], question: str, frames: tuple[str, ...]
) -> Passage:
    """A question about a property in which all things of the passage differ."""
    draw = sampler.draw
    things = {value(concept): concept for concept in draw.order(sampler.words.concepts)}
    concepts = draw.order(list(things.values()))[: _length(draw)]
    frame, stated = draw.pick(frames), []
    names = [draw.pick(concept.names) for concept in concepts]
    for name, concept in zip(names, concepts, strict=True):
        deed = {"person": draw.pick(sampler.words.people), "deed": sampler.deed()}
        stated.append(Statement(frame.format(name, value(concept), **deed), value(concept)))
    return question.format(_name_in_question(draw, concepts[0], names[0])), stated
