"""How alike are two sentences? After STS12-16 (four sources) and after SICK-R; nothing to train on.

As in `tasks.similarity`, the content words that a pair shares say nothing: two synonyms make it
more alike, two things of a kind a little.
"""

from harness.data.microworld import lexicon
from harness.data.microworld.grammar import with_article
from harness.data.microworld.labelled import POINT, SCORE_NOISE
from harness.data.microworld.random_draws import Draw
from harness.data.microworld.sampling import Item
from harness.data.microworld.sentence_tasks import Examiner
from harness.data.microworld.world import Concept

TEST = {"test": 1_000}
Pair = tuple[str, str]


def like(examiner: Examiner, concept: Concept, points: int) -> Concept:
    """What shares with a concept everything (2 points), its kind (1) or nothing (0)."""
    return (examiner.stranger, examiner.sibling, lambda same: same)[points](concept)


def captions(examiner: Examiner, first: int, second: int) -> Pair:
    """Somebody with two things, in either voice."""
    draw, world = examiner.draw, examiner.world
    person, verb = draw.pick(examiner.words.people), draw.pick(world.verbs)
    near = draw.pick(lexicon.NEIGHBOURHOOD)
    frames = (
        f"{person} {verb.past} the {{}} {near} the {{}}.",
        f"the {{}} {near} the {{}} was {verb.participle} by {person}.",
    )
    pairs = _two(examiner, first, second, plural=False)
    return draw.pick(frames).format(*pairs[0]), draw.pick(frames).format(*pairs[1])


def headlines(examiner: Examiner, first: int, second: int) -> Pair:
    """Many things of two sorts, in a city."""
    draw, verb = examiner.draw, examiner.draw.pick(examiner.world.verbs).participle
    city = draw.pick(examiner.words.cities)
    frames = (f"{{}} and {{}} {verb} in {city}.", f"in {city}, {{}} and {{}} were {verb}.")
    pairs = _two(examiner, first, second, plural=True)
    return draw.pick(frames).format(*pairs[0]), draw.pick(frames).format(*pairs[1])


def questions(examiner: Examiner, first: int, second: int) -> Pair:
    """Questions about two things."""
    draw, deed = examiner.draw, examiner.draw.pick(examiner.world.verbs).past
    near = draw.pick(lexicon.NEIGHBOURHOOD)
    frames = (
        f"who {deed} the {{}} {near} the {{}}?",
        f"what colour is the {{}} {near} the {{}}?",
        f"where is the {{}} {near} the {{}}?",
    )
    pairs = _two(examiner, first, second, plural=False)
    frame = draw.pick(frames)
    return frame.format(*pairs[0]), frame.format(*pairs[1])


def opinions(examiner: Examiner, first: int, second: int) -> Pair:
    """Two opinions, each as good or as bad in both reviews (2 points) or not (0)."""
    draw = examiner.draw
    aspects = draw.two(draw.pick((lexicon.FILM_ASPECTS, lexicon.FOOD_ASPECTS)))
    sentences: list[list[str]] = [[], []]
    for points in (first, second):
        positive = draw.chance(0.5)
        one, other = draw.two(examiner.words.polar(positive))
        if points < 2:
            other = draw.pick(examiner.words.polar(not positive))
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
    subset: [p for p in ((i, j) for i in range(3) for j in range(3)) if 1 not in p or graded]
    for subset, graded in {name: name != "opinions" for name in SUBSETS}.items()
}
"""Subset to the points that the two parts of a sentence may get."""


def sentence_similarity(examiner: Examiner, number: int) -> Item:
    """After STS12-16: a score from 0 to 5 for a pair of one of four sources."""
    draw, subset = examiner.draw, list(SUBSETS)[number % len(SUBSETS)]
    answer = draw.pick(sorted({i + j for i, j in POINTS[subset]}))
    first, second = draw.pick([(i, j) for i, j in POINTS[subset] if i + j == answer])
    one, other = SUBSETS[subset](examiner, first, second)
    label = score(draw, POINT * answer, 0.0)
    inputs = {"sentence1": one, "sentence2": other}
    return Item(inputs, {"label": label, "subset": subset}, answer)


def relatedness(examiner: Examiner, number: int) -> Item:
    """After SICK-R: a score from 1 to 5 for sentences of one thing each.

    It is called by a synonym (5 points), by its kind, as another thing of its kind, or as one of
    another kind (1 point).
    """
    draw, answer, concept = examiner.draw, number % 4, examiner.concept()
    one, other = examiner.names(concept)
    if answer == 2:
        other = concept.kind.name
    elif answer < 2:
        other = draw.pick(like(examiner, concept, answer).names)
    verb = draw.pick(examiner.world.verbs)
    near = draw.pick(lexicon.NEIGHBOURHOOD)
    place = f"{near} the {draw.pick(examiner.concept().names)}"
    frames = (f"{{}} {place} was {verb.participle}.", f"people {verb.past} {{}} {place}.")
    inputs = {
        "sentence1": draw.pick(frames).format(with_article(one)),
        "sentence2": draw.pick(frames).format(with_article(other)),
    }
    return Item(inputs, {"label": score(draw, 1 + 4 / 3 * answer, 1.0)}, answer)


def score(draw: Draw, exact: float, lowest: float) -> float:
    """The score with the noise of `tasks.similarity`, within its scale that ends at 5."""
    noise = 2 * SCORE_NOISE * sum(draw.random() - 0.5 for _ in range(3))
    return round(min(5.0, max(lowest, exact + noise)), 2)


def _two(examiner: Examiner, first: int, second: int, plural: bool) -> list[tuple[str, str]]:
    """For each sentence of a pair, names of its two things; never the same name in both."""
    names: list[list[str]] = [[], []]
    concepts = examiner.draw.two(examiner.words.concepts)
    for points, concept in zip((first, second), concepts, strict=True):
        this, that = examiner.draw.two((0, 1))
        twin = like(examiner, concept, points)
        forms = (concept.plurals, twin.plurals) if plural else (concept.names, twin.names)
        names[0].append(forms[0][this])
        names[1].append(forms[1][that])
    return [(one, other) for one, other in names]
