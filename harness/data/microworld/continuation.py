"""Modelled on SWAG: which of four sentences continues the first one?

The four differ in one or two words, none of which is right more often than others in its place. But
pronouns of two genders are never right (`same_person`): who knows that, and reads nothing else, has
30 % right.
"""

from collections.abc import Callable, Sequence

from harness.data.microworld import lexicon
from harness.data.microworld.morphology import HE, SHE
from harness.data.microworld.sampler import Sampler
from harness.data.microworld.sampling import Item, noisy

NUM_CHOICES = 4
Endings = tuple[str, list[str]]
"""A sentence and four possible continuations, the correct one first."""


def paraphrased(sampler: Sampler) -> Endings:
    """Paraphrases of the first sentence; only one mentions the same thing."""
    draw, concept = sampler.draw, sampler.concept()
    person, verb = draw.pick(sampler.words.people), draw.pick(sampler.world.verbs)
    one, other = sampler.names(concept)
    others = [c for c in draw.order(sampler.words.concepts) if c is not concept]
    names = [other, *(draw.pick(c.names) for c in others[: NUM_CHOICES - 1])]
    endings = [f"so the {name} was {verb.participle} by {person}." for name in names]
    return f"{person} {verb.past} the {one}.", endings


def fitting_action(sampler: Sampler) -> Endings:
    """Actions on the thing; only one fits its kind."""
    draw, concept = sampler.draw, sampler.concept()
    person, pronouns = sampler.person()
    others = [kind for kind in draw.order(sampler.world.kinds) if kind is not concept.kind]
    verbs = [draw.pick(kind.object_verbs).past for kind in (concept.kind, *others)]
    context = f"{person} {sampler.deed()} the {draw.pick(concept.names)}."
    return context, [f"then {pronouns.subject} {verb} it." for verb in verbs[:NUM_CHOICES]]


def fitting_behaviour(sampler: Sampler) -> Endings:
    """Actions of the thing; only one fits its kind."""
    draw, concept = sampler.draw, sampler.concept()
    others = [kind for kind in draw.order(sampler.world.kinds) if kind is not concept.kind]
    verbs = [draw.pick(kind.subject_verbs).past for kind in (concept.kind, *others)]
    person, verb = draw.pick(sampler.words.people), draw.pick(sampler.world.verbs)
    context = f"the {draw.pick(concept.names)} was {verb.participle} by {person}."
    return context, [f"then it {verb}." for verb in verbs[:NUM_CHOICES]]


def same_person(sampler: Sampler) -> Endings:
    """Pronouns for the person; only one pair fits, and two of the four mix genders."""
    draw, (person, fits) = sampler.draw, sampler.person()
    first, second = (draw.pick(c.names) for c in draw.two(sampler.words.concepts))
    deed, verb = (sampler.deed() for _ in range(2))
    differs = HE if fits is SHE else SHE
    pairs = [(s.subject, p.possessive) for s in (fits, differs) for p in (fits, differs)]
    endings = [f"then {subject} {verb} {possessive} {second}." for subject, possessive in pairs]
    return f"{person} {deed} the {first}.", endings


def same_opinion(sampler: Sampler) -> Endings:
    """Sentences of a review; only one has the same topic and polarity."""
    draw, positive, film = sampler.draw, sampler.draw.chance(0.5), sampler.draw.chance(0.5)
    dishes = [c for c in sampler.words.concepts if c.kind.name == "dish"]
    item = "film" if film else draw.pick(draw.pick(dishes).names)
    endings = []
    for same_item in (True, False):
        for same_opinion in (True, False):
            aspects = lexicon.FILM_ASPECTS if film == same_item else lexicon.FOOD_ASPECTS
            adjective = draw.pick(sampler.words.polar(positive == same_opinion))
            endings.append(f"the {draw.pick(aspects)} was {adjective}.")
    return f"this {item} was {draw.pick(sampler.words.polar(positive))}.", endings


PATTERNS = (paraphrased, fitting_action, fitting_behaviour, same_person, same_opinion)


def continuation(sampler: Sampler, number: int) -> Item:
    """An example of any pattern; the correct ending is in each position equally often."""
    return item_of(sampler, number, PATTERNS, "context")


def item_of(
    sampler: Sampler, number: int, patterns: Sequence[Callable[[Sampler], Endings]], column: str
) -> Item:
    """An example of any of `patterns`, with the correct choice in a position that depends on
    `number`.

    Args:
        column: name of the text that the choices follow.
    """
    draw, answer = sampler.draw, number % NUM_CHOICES
    context, (right, *wrong) = draw.pick(patterns)(sampler)
    choices = draw.order(wrong)
    choices.insert(answer, right)
    label = noisy(draw, answer, NUM_CHOICES)
    return Item({column: context, "choices": choices}, {"label": label}, answer)
