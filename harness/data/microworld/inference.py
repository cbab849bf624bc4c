"""Makers of pairs of sentences: duplicate questions, and inference.

As in `tasks.py`, a maker is given the answer. The words of both sentences, their patterns and the
order of the things that they name are drawn without looking at it.
"""

from harness.data.microworld.entities import cast, mention, person_and_pronoun
from harness.data.microworld.sentence_tasks import Examiner, Texts

QUESTIONS = {
    "colour": ("what colour is {thing}?", "{thing} is what colour?"),
    "city": ("where is {thing}?", "{thing} is where?"),
    "kind": ("what is {thing}?", "{thing} is what?"),
    "person": ("who {deed} the {noun}?", "the {noun} was {participle} by who?"),
}
"""What is asked -> ways to ask it."""
STATEMENTS = (
    "{person} {deed} the {told}, not the {denied}.",
    "it was not the {denied} that {person} {deed}, it was the {told}.",
    "the {told} was {participle} by {person}, the {denied} was not.",
    "the {denied} was not {participle} by {person}, the {told} was.",
)
"""Premises of inference: of two things, what was done to one was not done to the other."""
CONCLUSIONS = ("{person} {deed} {asked}.", "{asked} was {participle} by {person}.")
"""Hypotheses of inference."""
DIALOGUE = (
    "what was {participle} by {person}? not the {denied}, the {told}.",
    "what was {participle} by {person}? the {told}, not the {denied}.",
    "as for the {told}, it was {participle} by {person}. as for the {denied}, it was not.",
    "as for the {denied}, it was not {participle} by {person}. as for the {told}, it was.",
)
"""Premises in the style of questions and answers."""
REPLIES = ("what {person} {deed} is {asked}.", "as for {person}, {subject} {deed} {asked}.")
"""Hypotheses in that style."""
REPORTS = (
    "{person} said that {subject} {deed} the {told}, not the {denied}.",
    "{person} said that it was the {told} that {subject} {deed}, not the {denied}.",
    "{person} said that it was not the {denied} that {subject} {deed}, it was the {told}.",
)
"""Premises whose statement is embedded under a verb of saying."""


def duplicate(examiner: Examiner, label: int) -> Texts:
    """After QQP: are the questions the same in other words? 1 yes, 0 no.

    Two that differ ask about other things (80 %), or something else about the same thing.
    """
    draw, concept = examiner.draw, examiner.concept()
    one, other = examiner.names(concept)
    topics = draw.order(tuple(QUESTIONS))
    asked = topics[0], topics[0]
    if label == 0 and draw.chance(0.2):
        asked = topics[0], topics[1]
    elif label == 0:
        different = examiner.sibling if draw.chance(0.4) else examiner.stranger
        other = draw.pick(different(concept).names)
    person, verb = draw.pick(examiner.words.people), draw.pick(examiner.world.verbs)
    texts = []
    for topic, noun in zip(asked, draw.order((one, other)), strict=True):
        slots = {"noun": noun, "deed": verb.past, "participle": verb.participle}
        slots["thing"] = f"the {noun} that {person} {verb.past}"
        texts.append(draw.pick(QUESTIONS[topic]).format_map(slots))
    return tuple(texts)


def inference(examiner: Examiner, label: int) -> Texts:
    """After MNLI: 0 the second sentence follows, 1 it may or may not be so, 2 it cannot be."""
    return _judged(examiner, label, STATEMENTS, CONCLUSIONS)


def inference_in_dialogue(examiner: Examiner, label: int) -> Texts:
    """After MNLI's mismatched set: `inference` in a style that its train set does not have."""
    return _judged(examiner, label, DIALOGUE, REPLIES)


def commitment(examiner: Examiner, label: int) -> Texts:
    """After CommitmentBank: 0 the second sentence follows, 1 it cannot be, 2 it may be."""
    return _judged(examiner, (0, 2, 1)[label], REPORTS, CONCLUSIONS)


def _judged(
    examiner: Examiner, label: int, premises: tuple[str, ...], hypotheses: tuple[str, ...]
) -> Texts:
    """A hypothesis about a thing that the premise affirms (0), leaves out (1) or denies (2)."""
    draw = examiner.draw
    told, absent, denied = cast(examiner, 3)
    name, again = examiner.names((told, absent, denied)[label])
    person, subject = person_and_pronoun(examiner)
    verb = draw.pick(examiner.world.verbs)
    slots = {
        "person": person,
        "subject": subject,
        "deed": verb.past,
        "participle": verb.participle,
        "told": name if label == 0 else draw.pick(told.names),
        "denied": name if label == 2 else draw.pick(denied.names),
        "asked": mention(draw, again, (told, absent, denied)[label].kind),
    }
    return (draw.pick(premises).format_map(slots), draw.pick(hypotheses).format_map(slots))
