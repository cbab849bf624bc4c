"""Six tasks shaped like GLUE's: makers of examples.

A maker is given the answer and draws the texts to it in such a way that no word, no length and no
position gives the answer away: only what the words mean does.
"""

from harness.data.microworld import lexicon
from harness.data.microworld.grammar import with_article
from harness.data.microworld.random_draws import Draw
from harness.data.microworld.world import Concept, Words, World

Texts = tuple[str, ...]
"""The one or two texts of an example."""


class Examiner:
    """Draws the material of the examples of one split."""

    def __init__(self, draw: Draw, world: World, words: Words) -> None:
        self.draw = draw
        self.world = world
        self.words = words

    def concept(self) -> Concept:
        """Any concept of the split."""
        return self.draw.pick(self.words.concepts)

    def names(self, concept: Concept) -> list[str]:
        """The two synonyms, in random order."""
        return self.draw.order(concept.names)

    def sibling(self, concept: Concept) -> Concept:
        """Another concept of the same kind."""
        return self.draw.pick(
            [c for c in self.words.concepts if c.kind is concept.kind and c is not concept]
        )

    def stranger(self, concept: Concept) -> Concept:
        """A concept of another kind."""
        return self.draw.pick([c for c in self.words.concepts if c.kind is not concept.kind])


def agreement(examiner: Examiner, good: bool) -> str:
    """Does the verb agree with its subject, over a distractor?"""
    draw, concept, other = examiner.draw, examiner.concept(), examiner.concept()
    plural = draw.chance(0.5)
    subject = draw.pick(concept.plurals if plural else concept.names)
    distractor = draw.pick(other.plurals if draw.chance(0.5) else other.names)
    verb = draw.pick(concept.kind.subject_verbs)
    form = verb.base if plural == good else verb.third
    return f"the {subject} {draw.pick(lexicon.NEIGHBOURHOOD)} the {distractor} {form}."


def determiner(examiner: Examiner, good: bool) -> str:
    """Does the determiner agree with its noun?"""
    draw, concept = examiner.draw, examiner.concept()
    plural = draw.chance(0.5)
    noun = draw.pick(concept.plurals if plural else concept.names)
    word = draw.pick(("these", "many") if plural == good else ("this", "every"))
    verb = draw.pick(examiner.world.verbs).past
    return f"{draw.pick(examiner.words.people)} {verb} {word} {noun}."


def selection(examiner: Examiner, good: bool) -> str:
    """Can this kind of thing do that?"""
    draw, concept = examiner.draw, examiner.concept()
    doer = concept if good else examiner.stranger(concept)
    distractor = draw.pick(examiner.concept().names)
    neighbourhood = draw.pick(lexicon.NEIGHBOURHOOD)
    verb = draw.pick(concept.kind.subject_verbs).past
    return f"the {draw.pick(doer.names)} {neighbourhood} the {distractor} {verb}."


def gender(examiner: Examiner, good: bool) -> str:
    """Does the pronoun fit the person?"""
    draw, words = examiner.draw, examiner.words
    woman = draw.chance(0.5)
    person = draw.pick(words.women if woman else words.men)
    possessive = "her" if woman == good else "his"
    verb = draw.pick(examiner.world.verbs).past
    return f"{person} {verb} {possessive} {draw.pick(examiner.concept().names)}."


def acceptability(examiner: Examiner, label: int) -> Texts:
    """After CoLA: is the sentence well formed? 1 yes, 0 no."""
    phenomena = (agreement, agreement, determiner, selection, selection, gender)
    return (examiner.draw.pick(phenomena)(examiner, label == 1),)


def sentiment(examiner: Examiner, label: int) -> Texts:
    """After SST-2: is the opinion positive? 1 yes, 0 no."""
    draw = examiner.draw
    aspect = draw.pick(lexicon.FILM_ASPECTS + lexicon.FOOD_ASPECTS)
    positive = label == 1
    number = draw.random()
    if number < 0.2:
        return (f"the {aspect} was not {draw.pick(examiner.words.polar(not positive))}.",)
    adjectives = examiner.words.polar(positive)
    if number < 0.6:
        adverb = draw.pick(lexicon.NEUTRAL_ADVERBS)
        return (f"the {aspect} was {adverb} {draw.pick(adjectives)}.",)
    one, other = draw.two(adjectives)
    return (f"the {aspect} was {one} and {other}.",)


def paraphrase(examiner: Examiner, label: int) -> Texts:
    """After MRPC: do the sentences say the same? 1 yes, 0 no."""
    draw, concept = examiner.draw, examiner.concept()
    person, verb = draw.pick(examiner.words.people), draw.pick(examiner.world.verbs)
    one, other = examiner.names(concept)
    if label == 0:
        different = examiner.sibling if draw.chance(0.4) else examiner.stranger
        other = draw.pick(different(concept).names)
    voices = (f"{person} {verb.past} the {{}}.", f"the {{}} was {verb.participle} by {person}.")
    return (draw.pick(voices).format(one), draw.pick(voices).format(other))


def entailment(examiner: Examiner, label: int) -> Texts:
    """After RTE: does the second sentence follow from the first? 0 yes, 1 no."""
    draw, concept = examiner.draw, examiner.concept()
    person, verb = draw.pick(examiner.words.people), draw.pick(examiner.world.verbs)
    stated = concept if label == 0 else examiner.stranger(concept)
    name = draw.pick(stated.names)
    voices = (f"{person} {verb.past} {{}}.", f"{{}} was {verb.participle} by {person}.")
    general = with_article(concept.kind.name)
    return (draw.pick(voices).format(f"the {name}"), draw.pick(voices).format(general))


def question(examiner: Examiner, label: int) -> Texts:
    """After QNLI: does the sentence answer the question? 0 yes, 1 no."""
    draw, concept = examiner.draw, examiner.concept()
    one, other = examiner.names(concept)
    person, deed = draw.pick(examiner.words.people), draw.pick(examiner.world.verbs).past
    asked = draw.pick(("colour", "city", "person"))
    told, about, name = asked, concept, other
    if label == 1 and draw.chance(0.35):
        told = draw.pick([topic for topic in ("colour", "city", "person") if topic != asked])
    elif label == 1:
        about = examiner.stranger(concept)
        name = draw.pick(about.names)
    questions = {
        "colour": f"what colour is the {one} that {person} {deed}?",
        "city": f"where is the {one} that {person} {deed}?",
        "person": f"who {deed} the {one}?",
    }
    answers = {
        "colour": about.colour,
        "city": about.city,
        "person": person,
    }
    return (questions[asked], f"as for the {name}, {answers[told]}.")


def similarity(examiner: Examiner, label: int) -> Texts:
    """After STS-B: how alike are the sentences, from 0 to 4? Never by a shared content word.

    Each sentence names two things. Two synonyms give 2 points, two things of a kind 1.
    """
    draw = examiner.draw
    person, verb = draw.pick(examiner.words.people), draw.pick(examiner.world.verbs).past
    closeness = draw.pick([(i, label - i) for i in range(3) if 0 <= label - i <= 2])
    first, second = [], []
    for points, concept in zip(closeness, draw.two(examiner.words.concepts), strict=True):
        one, other = examiner.names(concept)
        if points < 2:
            different = examiner.sibling if points else examiner.stranger
            other = draw.pick(different(concept).names)
        first.append(one)
        second.append(other)
    sentence = f"{person} {verb} the {{}} {draw.pick(lexicon.NEIGHBOURHOOD)} the {{}}."
    return (sentence.format(*first), sentence.format(*second))
