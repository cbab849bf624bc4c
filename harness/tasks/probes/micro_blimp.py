"""micro-blimp: pairs of acceptable and minimally different unacceptable micro-world sentences.

It uses the words of both train and dev sets of the tasks, because no training is involved.
"""

from collections.abc import Callable
from dataclasses import dataclass

from harness.data.microworld import lexicon
from harness.data.microworld.sampler import Sampler
from harness.tasks.probes.probe import Probe
from harness.tasks.task import MicroworldData

GAP = "{}"
LICENCE = "Apache-2.0"


@dataclass(frozen=True)
class Contrast:
    """("the dog {}.", "the dogs {}.") with the fillings ("growls", "growl").

    A filling that is correct in one sentence of a contrast is wrong in the others, so that a
    unigram model scores exactly at chance level in every category.
    """

    frames: tuple[str, ...]
    """Sentences with one gap each."""
    fillings: tuple[str, ...]
    """Filling i is correct in frame i only; fillings without a frame are wrong everywhere."""


DrawContrast = Callable[[Sampler], Contrast]


def distractor_agreement(sampler: Sampler) -> Contrast:
    """Number agreement of a verb with its subject, across a noun of the other number."""
    draw, name = sampler.draw, sampler.draw.pick((0, 1))
    concept, other = draw.two(sampler.words.concepts)
    verb, near = draw.pick(concept.kind.subject_verbs), draw.pick(lexicon.NEIGHBOURHOOD)
    singular = f"the {concept.names[name]} {near} the {draw.pick(other.plurals)} {GAP}."
    plural = f"the {concept.plurals[name]} {near} the {draw.pick(other.names)} {GAP}."
    return Contrast((singular, plural), (verb.third, verb.base))


def subject_selection(sampler: Sampler, num_fillings: int = 2) -> Contrast:
    """Subjects that fit the verb; the noun in between does not."""
    draw = sampler.draw
    *kinds, other = draw.order(sampler.world.kinds)[: num_fillings + 1]
    near = f"{draw.pick(lexicon.NEIGHBOURHOOD)} the {draw.pick(sampler.member(other).names)}"
    verbs = (draw.pick(kind.subject_verbs).past for kind in kinds)
    fillings = tuple(draw.pick(sampler.member(kind).names) for kind in kinds)
    return Contrast(tuple(f"the {GAP} {near} {verb}." for verb in verbs), fillings)


def subject_verb_agreement(sampler: Sampler) -> Contrast:
    """Number agreement of a verb with the adjacent subject."""
    concept, name = sampler.concept(), sampler.draw.pick((0, 1))
    verb = sampler.draw.pick(concept.kind.subject_verbs)
    adjective = sampler.draw.pick(concept.kind.adjectives)
    nouns = (concept.names[name], concept.plurals[name])
    frames = tuple(f"the {adjective} {noun} {GAP}." for noun in nouns)
    return Contrast(frames, (verb.third, verb.base))


def determiner_noun_agreement(sampler: Sampler) -> Contrast:
    """Number agreement of a determiner with its noun."""
    concept, name = sampler.concept(), sampler.draw.pick((0, 1))
    start = f"{sampler.draw.pick(sampler.words.people)} {sampler.deed()} {GAP}"
    frames = (f"{start} {concept.names[name]}.", f"{start} {concept.plurals[name]}.")
    return Contrast(frames, sampler.draw.pick((("this", "these"), ("every", "many"))))


def pronoun_gender_agreement(sampler: Sampler) -> Contrast:
    """Gender agreement of a pronoun with a person."""
    draw, words = sampler.draw, sampler.words
    noun, verb = draw.pick(sampler.concept().names), sampler.deed()
    rest, fillings = draw.pick(
        (
            (f"{verb} {GAP} {noun}.", ("her", "his")),
            (f"said that {GAP} {verb} the {noun}.", ("she", "he")),
        )
    )
    people = (draw.pick(words.women), draw.pick(words.men))
    return Contrast(tuple(f"{person} {rest}" for person in people), fillings)


def irregular_forms(sampler: Sampler) -> Contrast:
    """The past or the participle of a verb whose two forms differ."""
    draw, concept = sampler.draw, sampler.concept()
    verbs = sampler.world.verbs + concept.kind.object_verbs
    verb = draw.pick([verb for verb in verbs if verb.past != verb.participle])
    person, noun = draw.pick(sampler.words.people), draw.pick(concept.names)
    frames = (f"{person} {GAP} the {noun}.", f"the {noun} was {GAP} by {person}.")
    return Contrast(frames, (verb.past, verb.participle))


def object_selection(sampler: Sampler) -> Contrast:
    """Objects that fit the verb."""
    draw, kinds = sampler.draw, sampler.draw.order(sampler.world.kinds)[:2]
    person = draw.pick(sampler.words.people)
    verbs = (draw.pick(kind.object_verbs).past for kind in kinds)
    fillings = tuple(draw.pick(sampler.member(kind).names) for kind in kinds)
    return Contrast(tuple(f"{person} {verb} the {GAP}." for verb in verbs), fillings)


def adjective_selection(sampler: Sampler) -> Contrast:
    """Nouns that fit the adjective."""
    draw, kinds = sampler.draw, sampler.draw.order(sampler.world.kinds)[:2]
    start = f"{draw.pick(sampler.words.people)} {sampler.deed()} the"
    adjectives = (draw.pick(kind.adjectives) for kind in kinds)
    fillings = tuple(draw.pick(sampler.member(kind).names) for kind in kinds)
    return Contrast(tuple(f"{start} {adjective} {GAP}." for adjective in adjectives), fillings)


def word_order(sampler: Sampler) -> Contrast:
    """Word order: adjective and noun, verb and object, or preposition and noun."""
    draw, concept = sampler.draw, sampler.concept()
    noun, other = draw.pick(concept.names), draw.pick(sampler.stranger(concept).names)
    did = draw.pick(concept.kind.subject_verbs).past
    person, near = draw.pick(sampler.words.people), draw.pick(lexicon.NEIGHBOURHOOD)
    frame, one, two = draw.pick(
        (
            (f"the {GAP} {did}.", draw.pick(concept.kind.adjectives), noun),
            (f"{person} {GAP} {noun}.", sampler.deed(), "the"),
            (f"the {noun} {GAP} {other} {did}.", near, "the"),
        )
    )
    return Contrast((frame,), (f"{one} {two}", f"{two} {one}"))


MINIMAL_PAIRS: dict[str, DrawContrast] = {
    "subject_verb_agreement": subject_verb_agreement,
    "distractor_agreement": distractor_agreement,
    "determiner_noun_agreement": determiner_noun_agreement,
    "pronoun_gender_agreement": pronoun_gender_agreement,
    "irregular_forms": irregular_forms,
    "subject_selection": subject_selection,
    "object_selection": object_selection,
    "adjective_selection": adjective_selection,
    "word_order": word_order,
}
"""Category to the function that draws its contrasts, with two fillings."""

MICRO_BLIMP = Probe(
    name="micro-blimp",
    kind="minimal_pairs",
    data=MicroworldData(generator="micro-blimp"),
    categories=tuple(MINIMAL_PAIRS),
    chance=0.5,
    licence=LICENCE,
    citation="Made by harness.tasks.probes; in the shape of BLiMP (Warstadt et al. 2020, TACL).",
)
