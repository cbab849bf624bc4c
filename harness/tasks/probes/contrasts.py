"""What the micro-world's probes are made of: gaps, and fillings each of which is right in one gap.

A filling that is right in one sentence of a contrast is wrong in the others. So no count of words
tells the answers: a unigram model scores exactly chance in every category.
"""

from collections.abc import Callable
from dataclasses import dataclass

from harness.data.microworld import lexicon
from harness.data.microworld.grammar import with_article
from harness.data.microworld.sentence_tasks import Examiner
from harness.data.microworld.world import Concept, Kind

GAP = "{}"
LICENCE = "Apache-2.0"


@dataclass(frozen=True)
class Contrast:
    """("the dog {}.", "the dogs {}.") with the fillings ("growls", "growl")."""

    frames: tuple[str, ...]
    """Sentences with one gap each."""
    fillings: tuple[str, ...]
    """Filling i is right in frame i alone; any beyond the frames is right in none."""


Maker = Callable[[Examiner], Contrast]


def distractor_agreement(examiner: Examiner) -> Contrast:
    """A verb in the number of its subject, over a noun of the other number."""
    draw, name = examiner.draw, examiner.draw.pick((0, 1))
    concept, other = draw.two(examiner.words.concepts)
    verb, near = draw.pick(concept.kind.subject_verbs), draw.pick(lexicon.NEIGHBOURHOOD)
    singular = f"the {concept.names[name]} {near} the {draw.pick(other.plurals)} {GAP}."
    plural = f"the {concept.plurals[name]} {near} the {draw.pick(other.names)} {GAP}."
    return Contrast((singular, plural), (verb.third, verb.base))


def subject_selection(examiner: Examiner, num_fillings: int = 2) -> Contrast:
    """Which things can do that; the noun between them and the verb can not."""
    draw = examiner.draw
    *kinds, other = draw.order(examiner.world.kinds)[: num_fillings + 1]
    near = f"{draw.pick(lexicon.NEIGHBOURHOOD)} the {draw.pick(member(examiner, other).names)}"
    verbs = (draw.pick(kind.subject_verbs).past for kind in kinds)
    fillings = tuple(draw.pick(member(examiner, kind).names) for kind in kinds)
    return Contrast(tuple(f"the {GAP} {near} {verb}." for verb in verbs), fillings)


def deed(examiner: Examiner) -> str:
    """What may be done to anything, in the past."""
    return examiner.draw.pick(examiner.world.verbs).past


def member(examiner: Examiner, kind: Kind) -> Concept:
    """Any concept of the kind."""
    return examiner.draw.pick(examiner.words.members(kind))


def stated(examiner: Examiner, pattern: str, concept: Concept) -> str:
    """The pattern of a fact with a name of the concept, the gap left open."""
    one, many = examiner.draw.pick(tuple(zip(concept.names, concept.plurals, strict=True)))
    a_kind = with_article(concept.kind.name)
    return pattern.format(one=one, many=many, a_one=with_article(one), a_kind=a_kind)
