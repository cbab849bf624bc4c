"""Sentence similarity, for evaluation only: modelled on STS12-16 (four sources) and on SICK-R.

As in `sentence_tasks.similarity`, what is compared never has the same name: two synonyms raise the
similarity, two things of one kind raise it a little.
"""

from itertools import product

from harness.data.microworld import lexicon
from harness.data.microworld.morphology import with_article
from harness.data.microworld.sampler import Sampler
from harness.data.microworld.sampling import POINT, Item, noisy_score
from harness.data.microworld.world import Concept

TEST = {"test": 1_000}
Pair = tuple[str, str]


def similar(sampler: Sampler, concept: Concept, points: int) -> Concept:
    """A concept that is the given one (2 points), of its kind (1) or of another kind (0)."""
    return (sampler.stranger, sampler.sibling, lambda same: same)[points](concept)


def captions(sampler: Sampler, first: int, second: int) -> Pair:
    """A person and two things, active or passive."""
    draw, world = sampler.draw, sampler.world
    person, verb = draw.pick(sampler.words.people), draw.pick(world.verbs)
    near = draw.pick(lexicon.NEIGHBOURHOOD)
    frames = (
        f"{person} {verb.past} the {{}} {near} the {{}}.",
        f"the {{}} {near} the {{}} was {verb.participle} by {person}.",
    )
    pairs = _two(sampler, first, second, plural=False)
    return draw.pick(frames).format(*pairs[0]), draw.pick(frames).format(*pairs[1])


def headlines(sampler: Sampler, first: int, second: int) -> Pair:
    """Two kinds of things in a city."""
    draw, verb = sampler.draw, sampler.draw.pick(sampler.world.verbs).participle
    city = draw.pick(sampler.words.cities)
    frames = (f"{{}} and {{}} {verb} in {city}.", f"in {city}, {{}} and {{}} were {verb}.")
    pairs = _two(sampler, first, second, plural=True)
    return draw.pick(frames).format(*pairs[0]), draw.pick(frames).format(*pairs[1])


def questions(sampler: Sampler, first: int, second: int) -> Pair:
    """Questions about two things."""
    draw, deed = sampler.draw, sampler.deed()
    near = draw.pick(lexicon.NEIGHBOURHOOD)
    frames = (
        f"who {deed} the {{}} {near} the {{}}?",
        f"what colour is the {{}} {near} the {{}}?",
        f"where is the {{}} {near} the {{}}?",
    )
    pairs = _two(sampler, first, second, plural=False)
    frame = draw.pick(frames)
    return frame.format(*pairs[0]), frame.format(*pairs[1])


def opinions(sampler: Sampler, first: int, second: int) -> Pair:
    """Reviews with two opinions, each of the same (2 points) or the opposite (0) polarity."""
    draw = sampler.draw
    aspects = draw.two(draw.pick((lexicon.FILM_ASPECTS, lexicon.FOOD_ASPECTS)))
    sentences: list[list[str]] = [[], []]
    for points in (first, second):
        positive = draw.chance(0.5)
        one, other = draw.two(sampler.words.polar(positive))
        if points < 2:
            other = draw.pick(sampler.words.polar(not positive))
        sentences[0].append(one)
        sentences[1].append(other)
    frame = f"the {aspects[0]} was {{}} and the {aspects[1]} was {{}}."
    return frame.format(*sentences[0]), frame.format(*sentences[1])


SUBSETS = {
    "captions": captions,
    "headlines": headlines,
    "opinions": opinions,
    "questions": questions,
}
POINTS = {
    subset: tuple(product((0, 2) if subset == "opinions" else (0, 1, 2), repeat=2))
    for subset in SUBSETS
}
"""Subset to the possible points of its two parts."""


def sentence_similarity(sampler: Sampler, number: int) -> Item:
    """Modelled on STS12-16: a score from 0 to 5 for a pair from one of four sources."""
    draw, subset = sampler.draw, list(SUBSETS)[number % len(SUBSETS)]
    answer = draw.pick(sorted({i + j for i, j in POINTS[subset]}))
    first, second = draw.pick([(i, j) for i, j in POINTS[subset] if i + j == answer])
    one, other = SUBSETS[subset](sampler, first, second)
    label = noisy_score(draw, POINT * answer)
    inputs = {"sentence1": one, "sentence2": other}
    return Item(inputs, {"label": label, "subset": subset}, answer)


def relatedness(sampler: Sampler, number: int) -> Item:
    """Modelled on SICK-R: a score from 1 to 5 for sentences about one thing each.

    The second sentence has a synonym (5), the kind, another thing of the kind, or a thing of
    another kind (1).
    """
    draw, answer, concept = sampler.draw, number % 4, sampler.concept()
    one, other = sampler.names(concept)
    if answer == 2:
        other = concept.kind.name
    elif answer < 2:
        other = draw.pick(similar(sampler, concept, answer).names)
    verb = draw.pick(sampler.world.verbs)
    near = draw.pick(lexicon.NEIGHBOURHOOD)
    place = f"{near} the {draw.pick(sampler.concept().names)}"
    frames = (f"{{}} {place} was {verb.participle}.", f"people {verb.past} {{}} {place}.")
    inputs = {
        "sentence1": draw.pick(frames).format(with_article(one)),
        "sentence2": draw.pick(frames).format(with_article(other)),
    }
    return Item(inputs, {"label": noisy_score(draw, 1 + 4 / 3 * answer, 1.0)}, answer)


def _two(sampler: Sampler, first: int, second: int, plural: bool) -> list[list[str]]:
    """The names of the two things of each sentence; no name is at one place of both sentences."""
    names: list[list[str]] = [[], []]
    concepts = sampler.draw.two(sampler.words.concepts)
    for points, concept in zip((first, second), concepts, strict=True):
        this, that = sampler.draw.two((0, 1))
        twin = similar(sampler, concept, points)
        nouns = (concept.plurals, twin.plurals) if plural else (concept.names, twin.names)
        names[0].append(nouns[0][this])
        names[1].append(nouns[1][that])
    return names
