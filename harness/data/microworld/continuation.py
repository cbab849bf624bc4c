"""After SWAG: which of four sentences goes on from the first one?

The four differ in one or two words, and each of those words is as often wrong as it is right.
"""

from harness.data.microworld import lexicon
from harness.data.microworld.grammar import HE, SHE
from harness.data.microworld.labelled import noisy
from harness.data.microworld.sampling import Item
from harness.data.microworld.sentence_tasks import Examiner

NUM_CHOICES = 4
Endings = tuple[str, list[str]]
"""A sentence, and four that may follow: the right one first."""


def said_again(examiner: Examiner) -> Endings:
    """The same event once more, in other words; the others tell of other things."""
    draw, concept = examiner.draw, examiner.concept()
    person, verb = draw.pick(examiner.words.people), draw.pick(examiner.world.verbs)
    one, other = examiner.names(concept)
    others = [c for c in draw.order(examiner.words.concepts) if c is not concept]
    names = [other, *(draw.pick(c.names) for c in others[: NUM_CHOICES - 1])]
    endings = [f"so the {name} was {verb.participle} by {person}." for name in names]
    return f"{person} {verb.past} the {one}.", endings


def done_to_it(examiner: Examiner) -> Endings:
    """What one does to such a thing."""
    draw, concept = examiner.draw, examiner.concept()
    woman = draw.chance(0.5)
    person = draw.pick(examiner.words.women if woman else examiner.words.men)
    others = [kind for kind in draw.order(examiner.world.kinds) if kind is not concept.kind]
    verbs = [draw.pick(kind.object_verbs).past for kind in (concept.kind, *others)]
    pronoun = (SHE if woman else HE).subject
    deed = draw.pick(examiner.world.verbs).past
    context = f"{person} {deed} the {draw.pick(concept.names)}."
    return context, [f"then {pronoun} {verb} it." for verb in verbs[:NUM_CHOICES]]


def done_by_it(examiner: Examiner) -> Endings:
    """What such a thing does."""
    draw, concept = examiner.draw, examiner.concept()
    others = [kind for kind in draw.order(examiner.world.kinds) if kind is not concept.kind]
    verbs = [draw.pick(kind.subject_verbs).past for kind in (concept.kind, *others)]
    person, verb = draw.pick(examiner.words.people), draw.pick(examiner.world.verbs)
    context = f"the {draw.pick(concept.names)} was {verb.participle} by {person}."
    return context, [f"then it {verb}." for verb in verbs[:NUM_CHOICES]]


def same_person(examiner: Examiner) -> Endings:
    """The pronouns that fit the person."""
    draw, woman = examiner.draw, examiner.draw.chance(0.5)
    person = draw.pick(examiner.words.women if woman else examiner.words.men)
    first, second = (draw.pick(c.names) for c in draw.two(examiner.words.concepts))
    deed, verb = (draw.pick(examiner.world.verbs).past for _ in range(2))
    fits, differs = (SHE, HE) if woman else (HE, SHE)
    pairs = [(s.subject, p.possessive) for s in (fits, differs) for p in (fits, differs)]
    endings = [f"then {subject} {verb} {possessive} {second}." for subject, possessive in pairs]
    return f"{person} {deed} the {first}.", endings


def same_opinion(examiner: Examiner) -> Endings:
    """A review goes on about the same thing, and thinks the same of it."""
    draw, positive, film = examiner.draw, examiner.draw.chance(0.5), examiner.draw.chance(0.5)
    dishes = [c for c in examiner.words.concepts if c.kind.name == "dish"]
    item = "film" if film else draw.pick(draw.pick(dishes).names)
    endings = []
    for same_item in (True, False):
        for same_opinion in (True, False):
            aspects = lexicon.FILM_ASPECTS if film == same_item else lexicon.FOOD_ASPECTS
            adjective = draw.pick(examiner.words.polar(positive == same_opinion))
            endings.append(f"the {draw.pick(aspects)} was {adjective}.")
    return f"this {item} was {draw.pick(examiner.words.polar(positive))}.", endings


FORMS = (said_again, done_to_it, done_by_it, same_person, same_opinion)


def continuation(examiner: Examiner, number: int) -> Item:
    """One example of any form; the right ending stands in each place equally often."""
    draw, answer = examiner.draw, number % NUM_CHOICES
    context, (right, *wrong) = draw.pick(FORMS)(examiner)
    choices = draw.order(wrong)
    choices.insert(answer, right)
    label = noisy(draw, answer, NUM_CHOICES)
    return Item({"context": context, "choices": choices}, {"label": label}, answer)
