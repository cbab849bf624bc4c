"""Six tasks modelled on GLUE.

Each function draws texts for a given label. No word, length or position reveals the label; only the
meaning of the words does.
"""

from harness.data.microworld import lexicon
from harness.data.microworld.morphology import with_article
from harness.data.microworld.sampler import Sampler, Texts


def agreement(sampler: Sampler, good: bool) -> str:
    """A sentence whose verb agrees with its subject or not, across a distractor."""
    draw, concept, other = sampler.draw, sampler.concept(), sampler.concept()
    plural = draw.chance(0.5)
    subject = draw.pick(concept.plurals if plural else concept.names)
    distractor = draw.pick(other.plurals if draw.chance(0.5) else other.names)
    verb = draw.pick(concept.kind.subject_verbs)
    form = verb.base if plural == good else verb.third
    return f"the {subject} {draw.pick(lexicon.NEIGHBOURHOOD)} the {distractor} {form}."


def determiner(sampler: Sampler, good: bool) -> str:
    """A sentence whose determiner agrees with its noun or not."""
    draw, concept = sampler.draw, sampler.concept()
    plural = draw.chance(0.5)
    noun = draw.pick(concept.plurals if plural else concept.names)
    word = draw.pick(("these", "many") if plural == good else ("this", "every"))
    verb = sampler.deed()
    return f"{draw.pick(sampler.words.people)} {verb} {word} {noun}."


def selection(sampler: Sampler, good: bool) -> str:
    """A sentence whose verb fits the kind of its subject or not."""
    draw, concept = sampler.draw, sampler.concept()
    doer = concept if good else sampler.stranger(concept)
    distractor = draw.pick(sampler.concept().names)
    neighbourhood = draw.pick(lexicon.NEIGHBOURHOOD)
    verb = draw.pick(concept.kind.subject_verbs).past
    return f"the {draw.pick(doer.names)} {neighbourhood} the {distractor} {verb}."


def gender(sampler: Sampler, good: bool) -> str:
    """A sentence whose pronoun has the gender of the person or not."""
    draw, words = sampler.draw, sampler.words
    woman = draw.chance(0.5)
    person = draw.pick(words.women if woman else words.men)
    possessive = "her" if woman == good else "his"
    verb = sampler.deed()
    return f"{person} {verb} {possessive} {draw.pick(sampler.concept().names)}."


def acceptability(sampler: Sampler, label: int) -> Texts:
    """Modelled on CoLA: 1 acceptable, 0 not."""
    phenomena = (agreement, agreement, determiner, selection, selection, gender)
    return (sampler.draw.pick(phenomena)(sampler, label == 1),)


def sentiment(sampler: Sampler, label: int) -> Texts:
    """Modelled on SST-2: 1 positive, 0 negative."""
    draw = sampler.draw
    aspect = draw.pick(lexicon.FILM_ASPECTS + lexicon.FOOD_ASPECTS)
    positive = label == 1
    number = draw.random()
    if number < 0.2:
        return (f"the {aspect} was not {draw.pick(sampler.words.polar(not positive))}.",)
    adjectives = sampler.words.polar(positive)
    if number < 0.6:
        adverb = draw.pick(lexicon.NEUTRAL_ADVERBS)
        return (f"the {aspect} was {adverb} {draw.pick(adjectives)}.",)
    one, other = draw.two(adjectives)
    return (f"the {aspect} was {one} and {other}.",)


def paraphrase(sampler: Sampler, label: int) -> Texts:
    """Modelled on MRPC: 1 paraphrases, 0 not."""
    draw, concept = sampler.draw, sampler.concept()
    person, verb = draw.pick(sampler.words.people), draw.pick(sampler.world.verbs)
    one, other = sampler.names(concept)
    if label == 0:
        different = sampler.sibling if draw.chance(0.4) else sampler.stranger
        other = draw.pick(different(concept).names)
    return tuple(sampler.event(person, verb, f"the {noun}") for noun in (one, other))


def entailment(sampler: Sampler, label: int) -> Texts:
    """Modelled on RTE: 0 entailment, 1 not."""
    draw, concept = sampler.draw, sampler.concept()
    person, verb = draw.pick(sampler.words.people), draw.pick(sampler.world.verbs)
    stated = concept if label == 0 else sampler.stranger(concept)
    nouns = (f"the {draw.pick(stated.names)}", with_article(concept.kind.name))
    return tuple(sampler.event(person, verb, noun) for noun in nouns)


def question(sampler: Sampler, label: int) -> Texts:
    """Modelled on QNLI: 0 if the sentence answers the question, 1 if not."""
    draw, concept = sampler.draw, sampler.concept()
    one, other = sampler.names(concept)
    person, deed = draw.pick(sampler.words.people), sampler.deed()
    topics = ("colour", "city", "person")
    topic = draw.pick(topics)
    stated, about, name = topic, concept, other
    if label == 1 and draw.chance(0.35):
        stated = draw.pick([other_topic for other_topic in topics if other_topic != topic])
    elif label == 1:
        about = sampler.stranger(concept)
        name = draw.pick(about.names)
    questions = {
        "colour": f"what colour is the {one} that {person} {deed}?",
        "city": f"where is the {one} that {person} {deed}?",
        "person": f"who {deed} the {one}?",
    }
    answers = {"colour": about.colour, "city": about.city, "person": person}
    return (questions[topic], f"as for the {name}, {answers[stated]}.")


def similarity(sampler: Sampler, label: int) -> Texts:
    """Modelled on STS-B: sentences of two things, with a similarity from 0 to 4.

    Two things at the same place give 2 points as synonyms, 1 as things of one kind; their names
    differ. In 4 to 5 % of the pairs, a noun is in both sentences at different places; such pairs
    have 1.2 points on average, others 2.0.
    """
    draw = sampler.draw
    person, verb = draw.pick(sampler.words.people), sampler.deed()
    closeness = draw.pick([(i, label - i) for i in range(3) if 0 <= label - i <= 2])
    first, second = [], []
    for points, concept in zip(closeness, draw.two(sampler.words.concepts), strict=True):
        one, other = sampler.names(concept)
        if points < 2:
            different = sampler.sibling if points else sampler.stranger
            other = draw.pick(different(concept).names)
        first.append(one)
        second.append(other)
    sentence = f"{person} {verb} the {{}} {draw.pick(lexicon.NEIGHBOURHOOD)} the {{}}."
    return (sentence.format(*first), sentence.format(*second))
