"""After SQuAD: questions about a passage, answered by a span of it or, in a third of the cases of
the second set, by nothing.

A passage has three to five sentences of one form, each with an answer of the right type: neither
its type nor its place tells. Some questions name a thing by the synonym that the passage lacks.

Train and dev passages tell of the same words: with a thousand examples of two words in five, tiny
models learned to match those words and no others. What a dev set asks here is to find, not to know.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from harness.data.microworld.grammar import Verb
from harness.data.microworld.random_draws import Draw
from harness.data.microworld.sampling import Item
from harness.data.microworld.sentence_tasks import Examiner
from harness.data.microworld.world import Concept

SIZES = {"train": 3_000, "validation": 1_000}
BY_SYNONYM = 0.3
"""Share of the things asked about that the question calls otherwise than the passage does."""
UNANSWERABLE_EVERY = 3


@dataclass(frozen=True)
class Told:
    """A sentence of a passage, and what a question could ask of it."""

    sentence: str
    value: str


@dataclass(frozen=True)
class Passage:
    """A question, the sentence that answers it, and sentences that do not."""

    question: str
    answer: Told
    distractors: list[Told]


def colour(examiner: Examiner) -> Passage:
    """Of which colour is it?"""
    frames = ("the {} is {}.", "as for the {}, {}.", "the {} that {person} {deed} is {}.")
    return _fact(examiner, lambda c: c.colour, "what colour is the {}?", frames)


def city(examiner: Examiner) -> Passage:
    """In which city is it?"""
    frames = ("the {} is in {}.", "as for the {}, {}.", "the {} that {person} {deed} is in {}.")
    return _fact(examiner, lambda c: c.city, "where is the {}?", frames)


def person(examiner: Examiner) -> Passage:
    """Who did it? Others did the same to other things, or something else to the same one."""
    draw, (verb, other_verb) = examiner.draw, examiner.draw.two(examiner.world.verbs)
    people = draw.order(examiner.words.people)
    concepts = draw.order(examiner.words.concepts)[: _length(draw) - 1]
    events = [(who, verb, draw.pick(c.names)) for who, c in zip(people, concepts, strict=False)]
    events.append((people[-1], other_verb, draw.pick(concepts[0].names)))
    told = [Told(_event(draw, *event), event[0]) for event in events]
    asked = _asked(draw, concepts[0], events[0][2])
    return Passage(f"who {verb.past} the {asked}?", told[0], told[1:])


def thing(examiner: Examiner) -> Passage:
    """What was it done to? The same person did other things, and others did the same."""
    draw, (verb, other_verb) = examiner.draw, examiner.draw.two(examiner.world.verbs)
    people = draw.order(examiner.words.people)
    concepts = draw.order(examiner.words.concepts)[: _length(draw)]
    doers = [people[0], people[0], *people[1 : len(concepts) - 1]]
    verbs = [verb, other_verb, *[verb] * (len(concepts) - 2)]
    told = _things(draw, doers, verbs, concepts)
    return Passage(f"what was {verb.participle} by {people[0]}?", told[0], told[1:])


def member(examiner: Examiner) -> Passage:
    """Which thing of a kind was it done to? The same person did it to things of other kinds."""
    draw, verb = examiner.draw, examiner.draw.pick(examiner.world.verbs)
    who, other = draw.two(examiner.words.people)
    concept = examiner.concept()
    others = [c for c in draw.order(examiner.words.concepts) if c.kind is not concept.kind]
    concepts = [concept, examiner.sibling(concept), *others[: _length(draw) - 2]]
    doers = [who, other, *[who] * (len(concepts) - 2)]
    told = _things(draw, doers, [verb] * len(concepts), concepts)
    return Passage(f"what {concept.kind.name} was {verb.participle} by {who}?", told[0], told[1:])


TOPICS = (colour, city, person, thing, member)


def answerable(examiner: Examiner, number: int) -> Item:
    """After SQuAD 1.1: the passage has the answer."""
    passage = examiner.draw.pick(TOPICS)(examiner)
    return _item(examiner.draw, passage, True)


def maybe_answerable(examiner: Examiner, number: int) -> Item:
    """After SQuAD 2.0: in every third passage the sentence with the answer is missing."""
    passage = examiner.draw.pick(TOPICS)(examiner)
    while not number % UNANSWERABLE_EVERY and len(passage.distractors) < 3:
        passage = examiner.draw.pick(TOPICS)(examiner)
    return _item(examiner.draw, passage, number % UNANSWERABLE_EVERY != 0)


def _item(draw: Draw, passage: Passage, known: bool) -> Item:
    told = draw.order([passage.answer, *passage.distractors] if known else passage.distractors)
    inputs = {"question": passage.question, "context": " ".join(one.sentence for one in told)}
    texts, starts = [], []
    if known:
        before = told[: told.index(passage.answer)]
        found = re.search(rf"\b{passage.answer.value}\b", passage.answer.sentence)
        assert found
        texts = [passage.answer.value]
        starts = [sum(len(one.sentence) + 1 for one in before) + found.start()]
    answers = {"text": texts, "answer_start": starts}
    return Item(inputs, {"answers": answers}, texts[0] if texts else "")


def _length(draw: Draw) -> int:
    """Sentences of a passage with its answer."""
    return draw.pick((3, 4, 5))


def _asked(draw: Draw, concept: Concept, told: str) -> str:
    """How a question calls what the passage calls `told`."""
    one, other = concept.names
    return (other if told == one else one) if draw.chance(BY_SYNONYM) else told


def _event(draw: Draw, who: str, verb: Verb, name: str) -> str:
    voices = (f"{who} {verb.past} the {name}.", f"the {name} was {verb.participle} by {who}.")
    return draw.pick(voices)


def _things(draw: Draw, doers: list[str], verbs: list[Verb], concepts: list[Concept]) -> list[Told]:
    names = [draw.pick(concept.names) for concept in concepts]
    events = zip(doers, verbs, names, strict=True)
    return [Told(_event(draw, *event), event[-1]) for event in events]


def _fact(
    examiner: Examiner, value: Callable[[Concept], str], question: str, frames: tuple[str, ...]
) -> Passage:
    """A question of what is true of one of some things that differ in it."""
    draw = examiner.draw
    things = {value(concept): concept for concept in draw.order(examiner.words.concepts)}
    concepts = draw.order(list(things.values()))[: _length(draw)]
    frame, told = draw.pick(frames), []
    names = [draw.pick(concept.names) for concept in concepts]
    for name, concept in zip(names, concepts, strict=True):
        deed = {"person": draw.pick(examiner.words.people), "deed": _deed(examiner)}
        told.append(Told(frame.format(name, value(concept), **deed), value(concept)))
    return Passage(question.format(_asked(draw, concepts[0], names[0])), told[0], told[1:])


def _deed(examiner: Examiner) -> str:
    return examiner.draw.pick(examiner.world.verbs).past
