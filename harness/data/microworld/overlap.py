"""Modelled on HANS: does a model treat word overlap as entailment?

In the train set overlap predicts entailment, but for a share of counterexamples. In the evaluation
set the four combinations of high or low overlap with entailment or not are equally frequent.
"""

from harness.data.microworld import lexicon
from harness.data.microworld.morphology import HE, SHE, with_article
from harness.data.microworld.sampler import Sampler
from harness.data.microworld.sampling import Item, noisy

Pair = tuple[str, str]
COUNTEREXAMPLES = 0.1
"""Share of the train set in which overlap and entailment disagree, unless another is given."""


def roles(sampler: Sampler, entailed: bool) -> Pair:
    """High overlap: the same two persons in the same or in exchanged roles."""
    draw = sampler.draw
    one, other = draw.two(sampler.words.people)
    verb = draw.pick(sampler.world.verbs)
    voices = verb.voices("{0}", "{1}")
    place = f"{draw.pick(lexicon.NEIGHBOURHOOD)} the {draw.pick(sampler.concept().names)}"
    premise = draw.pick(voices).format(one, other)
    hypothesis = draw.pick(voices).format(*((one, other) if entailed else (other, one)))
    return f"{premise} {place}.", f"{hypothesis}."


def attachment(sampler: Sampler, entailed: bool) -> Pair:
    """High overlap: the object of the verb, or the noun next to it."""
    draw = sampler.draw
    thing, beside = (draw.pick(c.names) for c in draw.two(sampler.words.concepts))
    person, verb = draw.pick(sampler.words.people), draw.pick(sampler.world.verbs)
    near = draw.pick(lexicon.NEIGHBOURHOOD)
    objects = (f"the {thing} {near} the {beside}", f"the {thing if entailed else beside}")
    first, second = (sampler.event(person, verb, noun) for noun in objects)
    return first, second


def meaning(sampler: Sampler, entailed: bool) -> Pair:
    """Low overlap: a pronoun replaces the person, the synonym or the kind replaces the thing."""
    draw, concept = sampler.draw, sampler.concept()
    woman, wrong_thing = draw.chance(0.5), draw.chance(0.5)
    person = draw.pick(sampler.words.women if woman else sampler.words.men)
    right_person = entailed or wrong_thing
    pronoun = (SHE if woman == right_person else HE).subject
    one, other = sampler.names(concept)
    stated = concept if entailed or not right_person else sampler.stranger(concept)
    if stated is not concept:
        one = draw.pick(stated.names)
    general = with_article(concept.kind.name) if draw.chance(0.5) else f"the {other}"
    verb = sampler.deed()
    return f"{person} {verb} the {one}.", f"{pronoun} {verb} {general}."


def overlap(sampler: Sampler, number: int) -> Item:
    """An evaluation example; every combination is equally frequent."""
    return _item(sampler, number % 2 == 0, number % 4 < 2)


def biased_overlap(sampler: Sampler, number: int, counterexamples: float = COUNTEREXAMPLES) -> Item:
    """A train example; overlap misleads in a share `counterexamples` of them."""
    entailed = number % 2 == 0
    return _item(sampler, entailed, entailed == sampler.draw.chance(1 - counterexamples))


def _item(sampler: Sampler, entailed: bool, high: bool) -> Item:
    draw = sampler.draw
    pattern = draw.pick((roles, attachment)) if high else meaning
    one, other = pattern(sampler, entailed)
    answer = 0 if entailed else 1
    label = noisy(draw, answer, 2)
    cell = f"{'high' if high else 'low'}_overlap_{'entailed' if entailed else 'not_entailed'}"
    return Item({"sentence1": one, "sentence2": other}, {"label": label, "cell": cell}, answer)
