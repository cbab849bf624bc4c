"""Makers of texts with a pronoun: what does it stand for?

The gender of a name, or what only one kind of thing does, resolves it.
"""

from harness.data.microworld import lexicon
from harness.data.microworld.entities import cast, person_and_pronoun, predicate
from harness.data.microworld.grammar import SHE
from harness.data.microworld.sentence_tasks import Examiner, Texts

REFERENCES = (
    "{person} {deed} the {noun}, then {word} was {participle}.",
    "{person} said that {word} was the {noun}.",
    "the {noun} was {participle}, so {person} {deed} {word}.",
)
"""Sentences whose one pronoun, `word`, stands for their one thing."""


def winograd(examiner: Examiner, label: int) -> Texts:
    """After WNLI: does the sentence with the pronoun replaced follow? 1 yes, 0 no.

    Half of the pronouns are resolved by the gender of a person, half by what a kind of thing does.
    """
    draw = examiner.draw
    if draw.chance(0.5):
        (right, pronoun), wrong = _couple(examiner)
        deed, later = (verb.past for verb in draw.two(examiner.world.verbs))
        noun, other = (draw.pick(c.names) for c in draw.two(examiner.words.concepts))
        one, two = draw.order((right, wrong))
        end = f"{later} the {other}."
        text = f"{one} and {two} {deed} the {noun}, then {pronoun} {end}"
        return (text, f"{right if label else wrong} {end}")
    right, wrong, end = _doer(examiner)
    person, deed = draw.pick(examiner.words.people), draw.pick(examiner.world.verbs).past
    one, two = draw.order((right, wrong))
    text = f"{person} {deed} the {one} {draw.pick(lexicon.NEIGHBOURHOOD)} the {two}, then it {end}."
    return (text, f"the {right if label else wrong} {end}.")


def coreference(examiner: Examiner, label: int) -> Texts:
    """After WSC: does the pronoun stand for what the statement says? 1 yes, 0 no.

    Every sentence has two persons, two things and a pronoun for one of each.
    """
    draw = examiner.draw
    (person, pronoun), nobody = _couple(examiner)
    doer, bystander, end = _doer(examiner)
    people, things = draw.order((person, nobody)), draw.order((doer, bystander))
    near, deed = draw.pick(lexicon.NEIGHBOURHOOD), draw.pick(examiner.world.verbs).past
    text = (
        f"{people[0]} and {people[1]} {deed} the {things[0]} {near} the {things[1]}, "
        f"then {pronoun} said that it {end}."
    )
    if draw.chance(0.5):
        return (text, f"{pronoun} is {person if label else nobody}.")
    return (text, f"it is the {doer if label else bystander}.")


def same_reference(examiner: Examiner, label: int) -> Texts:
    """After WiC: does the word mean things of the same kind in both sentences? 1 yes, 0 no.

    A word of this world has one sense only, except that a pronoun means what it stands for. So the
    word is a pronoun, the only one of each sentence, and its sense the kind of that thing.
    """
    draw, concept = examiner.draw, examiner.concept()
    one, other = examiner.names(concept)
    if label == 0:
        other = draw.pick(examiner.stranger(concept).names)
    elif draw.chance(0.5):
        other = draw.pick(examiner.sibling(concept).names)
    word, people = draw.pick(("it", "this")), draw.two(examiner.words.people)
    texts = []
    for person, noun in zip(people, draw.order((one, other)), strict=True):
        deed, later = draw.two(examiner.world.verbs)
        slots = {"person": person, "noun": noun, "word": word, "deed": deed.past}
        slots["participle"] = later.participle
        texts.append(draw.pick(REFERENCES).format_map(slots))
    return (word, *texts)


def _couple(examiner: Examiner) -> tuple[tuple[str, str], str]:
    """A person with the pronoun, and one whom that pronoun cannot mean."""
    person, pronoun = person_and_pronoun(examiner)
    words = examiner.words
    return (person, pronoun), examiner.draw.pick(
        words.men if pronoun == SHE.subject else words.women
    )


def _doer(examiner: Examiner) -> tuple[str, str, str]:
    """Names of a thing and of one of another kind, and what only the first does."""
    draw = examiner.draw
    doer, bystander = cast(examiner, 2)
    return draw.pick(doer.names), draw.pick(bystander.names), predicate(draw, doer.kind)
