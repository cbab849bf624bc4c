"""Contrasts: sentences with gaps, and fillings that are each correct in one gap only.

A filling that is correct in one sentence of a contrast is wrong in the others, so that a unigram
model scores exactly at chance level in every category.
"""

from collections.abc import Callable
from dataclasses import dataclass

from harness.data.microworld import lexicon
from harness.data.microworld.morphology import with_article
from harness.data.microworld.sampler import Sampler
from harness.data.microworld.world import Concept

GAP = "{}"
LICENCE = "Apache-2.0"


@dataclass(frozen=True)
class Contrast:
    """("the dog {}.", "the dogs {}.") with the fillings ("growls", "growl")."""

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


def stated(sampler: Sampler, pattern: str, concept: Concept) -> str:
    """The pattern of a fact filled with a name of the concept, except for the gap."""
    one, many = sampler.draw.pick(tuple(zip(concept.names, concept.plurals, strict=True)))
    a_kind = with_article(concept.kind.name)
    return pattern.format(one=one, many=many, a_one=with_article(one), a_kind=a_kind)
