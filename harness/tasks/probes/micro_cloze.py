"""Micro-world sentences with a gap that only one candidate fills correctly.

The usual categories time, number and substance are missing, because the corpus has no such facts.
"""

from collections.abc import Callable
from functools import partial

from harness.data.microworld import lexicon
from harness.data.microworld.morphology import Verb, with_article
from harness.data.microworld.sampler import Sampler
from harness.data.microworld.world import Concept
from harness.tasks.probes.micro_blimp import (
    GAP,
    LICENCE,
    Contrast,
    DrawContrast,
    distractor_agreement,
    subject_selection,
)
from harness.tasks.probes.probe import Probe
from harness.tasks.task import MicroworldData


def verb(sampler: Sampler) -> Contrast:
    """Verbs that fit the object, active or passive."""
    draw, kinds = sampler.draw, sampler.draw.order(sampler.world.kinds)[:4]
    person, verbs = draw.pick(sampler.words.people), [draw.pick(k.object_verbs) for k in kinds]
    nouns = [draw.pick(sampler.member(kind).names) for kind in kinds]
    return _verbs(person, verbs, nouns, is_active=draw.chance(0.5))


def _verbs(person: str, verbs: list[Verb], nouns: list[str], is_active: bool) -> Contrast:
    """The object, right of an active verb or left of a passive one, says which verb fits."""
    if is_active:
        frames = tuple(f"{person} {GAP} the {noun}." for noun in nouns)
        return Contrast(frames, tuple(verb.past for verb in verbs))
    frames = tuple(f"the {noun} was {GAP} by {person}." for noun in nouns)
    return Contrast(frames, tuple(verb.participle for verb in verbs))


def verb_beside_cue(sampler: Sampler, cue_is_right: bool) -> Contrast:
    """Verbs whose object, the only cue, stands right or left of them."""
    draw, kinds = sampler.draw, sampler.draw.order(sampler.world.kinds)[:4]
    nouns = [draw.pick(sampler.member(kind).names) for kind in kinds]
    verbs = [draw.pick(kind.object_verbs) for kind in kinds]
    return _verbs(draw.pick(sampler.words.people), verbs, nouns, is_active=cue_is_right)


def preposition(sampler: Sampler) -> Contrast:
    """Prepositions: by, in, of, for."""
    draw, (object_, located, general, topic) = sampler.draw, [sampler.concept() for _ in range(4)]
    done = draw.pick(sampler.world.verbs + object_.kind.object_verbs).participle
    frames = (
        f"the {draw.pick(object_.names)} was {done} {GAP} {draw.pick(sampler.words.people)}.",
        f"the {draw.pick(located.names)} is {GAP} {located.city}.",
        f"{with_article(draw.pick(general.names))} is a kind {GAP} {general.kind.name}.",
        f"as {GAP} the {draw.pick(topic.names)}, {draw.pick((topic.colour, topic.city))}.",
    )
    return Contrast(frames, ("by", "in", "of", "for"))


def stated(sampler: Sampler, pattern: str, concept: Concept) -> str:
    """The pattern of a fact filled with a name of the concept, except for the gap."""
    one, many = sampler.draw.pick(tuple(zip(concept.names, concept.plurals, strict=True)))
    a_kind = with_article(concept.kind.name)
    return pattern.format(one=one, many=many, a_one=with_article(one), a_kind=a_kind)


PLACES = (
    "the {one} is in {{}}.",
    "the {one}, {a_kind}, is in {{}}.",
    "many {many} are found in {{}}.",
)
COLOURS = ("the {one} is {{}}.", "most {many} are {{}}.")


def fact(sampler: Sampler, patterns: tuple[str, ...], value: Callable[[Concept], str]) -> Contrast:
    """A fact of the corpus about a concept, with values of other concepts as candidates."""
    draw = sampler.draw
    different = {value(concept): concept for concept in draw.order(sampler.words.concepts)}
    fillings = tuple(draw.order(list(different))[:4])
    frames = (stated(sampler, draw.pick(patterns), different[filling]) for filling in fillings)
    return Contrast(tuple(frames), fillings)


def hypernym(sampler: Sampler) -> Contrast:
    """The kind of a thing."""
    draw, kinds = sampler.draw, sampler.draw.order(sampler.world.kinds)[:4]
    many = draw.chance(0.5)
    pattern = "all {many} are {{}}." if many else "{a_one} is a kind of {{}}."
    frames = (stated(sampler, pattern, sampler.member(kind)) for kind in kinds)
    return Contrast(tuple(frames), tuple(kind.plural if many else kind.name for kind in kinds))


def synonym(sampler: Sampler) -> Contrast:
    """The synonym of a name, with names of other things of its kind as candidates."""
    draw, kind = sampler.draw, sampler.draw.pick(sampler.world.kinds)
    concepts = draw.order(sampler.words.members(kind))[:4]
    if draw.chance(0.5):
        names, rest = [draw.two(c.names) for c in concepts], draw.pick(kind.subject_verbs).third
        frames = tuple(f"the {one}, or {GAP}, {rest}." for one, _ in names)
    else:
        names = [draw.two(concept.plurals) for concept in concepts]
        rest = f"are {draw.pick(kind.adjectives)} {kind.plural}"
        frames = tuple(f"{one}, or {GAP}, {rest}." for one, _ in names)
    return Contrast(frames, tuple(other for _, other in names))


SENTIMENTS = (
    "the {aspect} was {good}, {one} and {{}}.",
    "i {loved} the {{}} {aspect}.",
    "the {aspect} was {adverb} {{}}.",
    "the {aspect} was not {opposite}, it was {neutral} {{}}.",
)


def sentiment(sampler: Sampler) -> Contrast:
    """An adjective of the same polarity as the rest of its sentence."""
    draw, pattern = sampler.draw, sampler.draw.pick(SENTIMENTS)
    aspect = draw.pick(lexicon.FILM_ASPECTS + lexicon.FOOD_ASPECTS)
    neutral = draw.pick(lexicon.NEUTRAL_ADVERBS)
    drawn = {positive: draw.order(sampler.words.polar(positive)) for positive in (True, False)}
    frames = (
        pattern.format(
            aspect=aspect,
            neutral=neutral,
            good=lexicon.OPINIONS[positive],
            one=drawn[positive][1],
            opposite=drawn[not positive][1],
            loved=draw.pick(lexicon.VERDICTS[positive]),
            adverb=draw.pick(lexicon.ADVERBS[positive]),
        )
        for positive in (True, False)
    )
    return Contrast(tuple(frames), (drawn[True][0], drawn[False][0]))


CLOZE: dict[str, DrawContrast] = {
    "verb": verb,
    "preposition": preposition,
    "commonsense": partial(subject_selection, num_fillings=4),
    "place": partial(fact, patterns=PLACES, value=lambda concept: concept.city),
    "colour": partial(fact, patterns=COLOURS, value=lambda concept: concept.colour),
    "hypernym": hypernym,
    "synonym": synonym,
    "agreement": distractor_agreement,
    "sentiment": sentiment,
}
"""Category to the function that draws its contrasts: two fillings for agreement and sentiment, else
four."""

SIDES: dict[str, DrawContrast] = {
    "cue_left": partial(verb_beside_cue, cue_is_right=False),
    "cue_right": partial(verb_beside_cue, cue_is_right=True),
}
"""Category to the function that draws its contrasts of four fillings."""

ENDS: dict[str, DrawContrast] = {
    "place": CLOZE["place"],
    "colour": partial(fact, patterns=COLOURS[1:], value=lambda concept: concept.colour),
    "hypernym": CLOZE["hypernym"],
}
"""Category to the function that draws its contrasts, whose gap ends the sentence. After "the <name>
is" the corpus has places, too."""

MICRO_CLOZE = Probe(
    name="micro-cloze",
    kind="cloze",
    data=MicroworldData(generator="micro-cloze"),
    categories=tuple(CLOZE),
    chance=(7 / 4 + 2 / 2) / 9,  # seven categories of four candidates, two of two
    licence=LICENCE,
    citation="Made by harness.tasks.probes; in the shape of LAMA (Petroni et al. 2019, EMNLP).",
)

MICRO_CLOZE_SIDES = Probe(
    name="micro-cloze-sides",
    kind="cloze",
    data=MicroworldData(generator="micro-cloze-sides"),
    categories=tuple(SIDES),
    chance=1 / 4,
    licence=LICENCE,
    citation="Made by harness.tasks.probes; in the shape of LAMA (Petroni et al. 2019, EMNLP).",
)

MICRO_GENERATION = Probe(
    name="micro-generation",
    kind="generation",
    data=MicroworldData(generator="micro-generation"),
    categories=tuple(ENDS),
    chance=0,
    licence=LICENCE,
    citation="Made by harness.tasks.probes; facts of micro-cloze whose end the model writes.",
)
