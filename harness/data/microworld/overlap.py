"""After HANS: does a model infer that what repeats the words of a text follows from it?

In the train set that is mostly so; the evaluation set has each of its four cells equally often:
high or low overlap of words, and entailment or not.
"""

from harness.data.microworld import lexicon
from harness.data.microworld.grammar import HE, SHE, with_article
from harness.data.microworld.labelled import noisy
from harness.data.microworld.sampling import Item
from harness.data.microworld.sentence_tasks import Examiner

Pair = tuple[str, str]
BIASED = 0.9
"""Share of the train set in which high overlap goes with entailment, and low overlap without."""


def roles(examiner: Examiner, entailed: bool) -> Pair:
    """Who did it to whom? In either voice, with the same persons."""
    draw = examiner.draw
    one, other = draw.two(examiner.words.people)
    verb = draw.pick(examiner.world.verbs)
    voices = (f"{{0}} {verb.past} {{1}}", f"{{1}} was {verb.participle} by {{0}}")
    place = f"{draw.pick(lexicon.NEIGHBOURHOOD)} the {draw.pick(examiner.concept().names)}"
    told = draw.pick(voices).format(one, other)
    asked = draw.pick(voices).format(*((one, other) if entailed else (other, one)))
    return f"{told} {place}.", f"{asked}."


def attachment(examiner: Examiner, entailed: bool) -> Pair:
    """To which of two things was it done?"""
    draw = examiner.draw
    thing, beside = (draw.pick(c.names) for c in draw.two(examiner.words.concepts))
    person, verb = draw.pick(examiner.words.people), draw.pick(examiner.world.verbs)
    near = draw.pick(lexicon.NEIGHBOURHOOD)
    voices = (f"{person} {verb.past} {{}}.", f"{{}} was {verb.participle} by {person}.")
    first = draw.pick(voices).format(f"the {thing} {near} the {beside}")
    return first, draw.pick(voices).format(f"the {thing if entailed else beside}")


def meaning(examiner: Examiner, entailed: bool) -> Pair:
    """Low overlap: a pronoun for the person, and the synonym or the kind for the thing."""
    draw, concept = examiner.draw, examiner.concept()
    woman, fault = draw.chance(0.5), draw.chance(0.5)
    person = draw.pick(examiner.words.women if woman else examiner.words.men)
    right_person = entailed or fault
    pronoun = (SHE if woman == right_person else HE).subject
    one, other = examiner.names(concept)
    told = concept if entailed or not right_person else examiner.stranger(concept)
    if told is not concept:
        one = draw.pick(told.names)
    general = with_article(concept.kind.name) if draw.chance(0.5) else f"the {other}"
    verb = draw.pick(examiner.world.verbs).past
    return f"{person} {verb} the {one}.", f"{pronoun} {verb} {general}."


def overlap(examiner: Examiner, number: int) -> Item:
    """Evaluated: every cell equally often."""
    return _item(examiner, number % 2 == 0, number % 4 < 2)


def biased_overlap(examiner: Examiner, number: int) -> Item:
    """Trained on: overlap goes with the label in `BIASED` of the examples."""
    entailed = number % 2 == 0
    return _item(examiner, entailed, entailed == examiner.draw.chance(BIASED))


def _item(examiner: Examiner, entailed: bool, high: bool) -> Item:
    draw = examiner.draw
    form = draw.pick((roles, attachment)) if high else meaning
    one, other = form(examiner, entailed)
    answer = 0 if entailed else 1
    label = noisy(draw, answer, 2)
    cell = f"{'high' if high else 'low'}_overlap_{'entailed' if entailed else 'not_entailed'}"
    return Item({"sentence1": one, "sentence2": other}, {"label": label, "cell": cell}, answer)
