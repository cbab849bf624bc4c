"""Texts with a pronoun, resolved by the gender of a name or by what only one kind of thing does."""

from harness.data.microworld import lexicon
from harness.data.microworld.morphology import SHE
from harness.data.microworld.sampler import Sampler, Texts

REFERENCES = (
    "{person} {deed} the {noun}, then {word} was {participle}.",
    "{person} said that {word} was the {noun}.",
    "the {noun} was {participle}, so {person} {deed} {word}.",
)
"""Sentences with one pronoun, `word`, which refers to their one thing."""


def winograd(sampler: Sampler, label: int) -> Texts:
    """Modelled on WNLI: is the sentence with the pronoun replaced entailed? 1 yes, 0 no.

    Half of the pronouns are resolved by gender, half by what only one kind of thing does.
    """
    draw = sampler.draw
    if draw.chance(0.5):
        (right, pronoun), wrong = _couple(sampler)
        deed, later = (verb.past for verb in draw.two(sampler.world.verbs))
        noun, other = (draw.pick(c.names) for c in draw.two(sampler.words.concepts))
        one, two = draw.order((right, wrong))
        end = f"{later} the {other}."
        text = f"{one} and {two} {deed} the {noun}, then {pronoun} {end}"
        return (text, f"{right if label else wrong} {end}")
    right, wrong, end = _doer(sampler)
    person, deed = draw.pick(sampler.words.people), sampler.deed()
    one, two = draw.order((right, wrong))
    text = f"{person} {deed} the {one} {draw.pick(lexicon.NEIGHBOURHOOD)} the {two}, then it {end}."
    return (text, f"the {right if label else wrong} {end}.")


def coreference(sampler: Sampler, label: int) -> Texts:
    """Modelled on WSC: is the stated referent of the pronoun correct? 1 yes, 0 no.

    Every text has two persons, two things and a pronoun for one of each.
    """
    draw = sampler.draw
    (person, pronoun), nobody = _couple(sampler)
    doer, bystander, end = _doer(sampler)
    people, things = draw.order((person, nobody)), draw.order((doer, bystander))
    near, deed = draw.pick(lexicon.NEIGHBOURHOOD), sampler.deed()
    text = (
        f"{people[0]} and {people[1]} {deed} the {things[0]} {near} the {things[1]}, "
        f"then {pronoun} said that it {end}."
    )
    if draw.chance(0.5):
        return (text, f"{pronoun} is {person if label else nobody}.")
    return (text, f"it is the {doer if label else bystander}.")


def same_reference(sampler: Sampler, label: int) -> Texts:
    """Modelled on WiC: does the word refer to things of one kind in both sentences? 1 yes, 0 no.

    Words of the micro-world have one sense, except for pronouns. The word is therefore the only
    pronoun of each sentence, and the kind of its referent is its sense.
    """
    draw, concept = sampler.draw, sampler.concept()
    one, other = sampler.names(concept)
    if label == 0:
        other = draw.pick(sampler.stranger(concept).names)
    elif draw.chance(0.5):
        other = draw.pick(sampler.sibling(concept).names)
    word, people = draw.pick(("it", "this")), draw.two(sampler.words.people)
    texts = []
    for person, noun in zip(people, draw.order((one, other)), strict=True):
        deed, later = draw.two(sampler.world.verbs)
        slots = {"person": person, "noun": noun, "word": word, "deed": deed.past}
        slots["participle"] = later.participle
        texts.append(draw.pick(REFERENCES).format_map(slots))
    return (word, *texts)


def _couple(sampler: Sampler) -> tuple[tuple[str, str], str]:
    """A person with the subject pronoun, and a person of the other gender."""
    person, pronouns = sampler.person()
    others = sampler.words.men if pronouns is SHE else sampler.words.women
    return (person, pronouns.subject), sampler.draw.pick(others)


def _doer(sampler: Sampler) -> tuple[str, str, str]:
    """Names of two things of different kinds, and a predicate that only the first takes."""
    draw = sampler.draw
    doer, bystander = sampler.distinct(2)
    return draw.pick(doer.names), draw.pick(bystander.names), sampler.predicate(doer.kind)
