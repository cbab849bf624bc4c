"""The pretraining corpus: coherent documents in six genres."""

from collections.abc import Callable, Iterator

from harness.data.microworld import lexicon
from harness.data.microworld.morphology import with_article
from harness.data.microworld.phrases import SPECIFIC, Author
from harness.data.microworld.random_draws import Draw
from harness.data.microworld.world import Concept, build

FACTS = (
    "{a_one} is a kind of {kind}.",
    "all {many} are {kinds}.",
    "{a_one} is also called {an_other}.",
    "the {one}, or {other}, {does}.",
    "{many}, or {more}, are {adjective} {kinds}.",
    "the {one} is {colour} and the {other} is {colour}.",
    "most {many} are {colour}.",
    "the {one}, {a_kind}, is in {city}.",
    "many {many} are found in {city}.",
    "the {one} {nearby} {does}.",
    "the {many} {nearby} {do}.",
    "every {one} {does}.",
    "these {many} are {adjective}.",
    "this {one} is {adjective}.",
    "people {handle} these {many}.",
    "the {colour} {one} {did}.",
)
"""Patterns of facts about a concept; `Author.slots` lists the slots."""


def entry(author: Author) -> list[str]:
    """An encyclopedia entry: facts about one concept."""
    concept = author.concept()
    patterns = author.draw.order(FACTS)[:8]
    return [pattern.format_map(author.slots(concept)) for pattern in patterns]


def catalogue(author: Author) -> list[str]:
    """A catalogue: pairs of members of one kind."""
    kind = author.draw.pick(author.world.kinds)
    members = author.words.members(kind)
    return [listing(author, *author.draw.two(members)) for _ in range(6)]


def listing(author: Author, one: Concept, other: Concept) -> str:
    """A sentence about two concepts of a kind."""
    draw, kind = author.draw, one.kind
    number = draw.random()
    if number < 0.35:
        names = f"{draw.pick(one.plurals)} and {draw.pick(other.plurals)}"
        return f"{kind.plural} such as {names} {draw.pick(kind.subject_verbs).base}."
    if number < 0.7:
        first, second = (author.described(c, draw.pick(c.names)) for c in (one, other))
        verb = draw.pick(author.world.verbs + kind.object_verbs).participle
        return f"the {first}, the {second} and other {kind.plural} were {verb}."
    return draw.pick(FACTS).format_map(author.slots(one))


def story(author: Author) -> list[str]:
    """A story: one person, two things, opinions, and events stated twice."""
    draw = author.draw
    person, pronouns = author.person()
    cast = draw.two(author.words.concepts)
    sentences: list[str] = []
    for _ in range(5):
        concept = draw.pick(cast)
        if draw.chance(0.5):
            sentences += event(author, person, concept)
            continue
        positive = draw.chance(0.5)
        phrases = {
            "person": person,
            "subject": pronouns.subject,
            "possessive": pronouns.possessive,
            "saw": author.deed(),
            "loved": draw.pick(lexicon.VERDICTS[positive]),
            "polar": author.polar(positive),
        }
        sentences.append(draw.pick(MOMENTS).format_map(author.slots(concept) | phrases))
    return sentences


MOMENTS = (
    "{person} {saw} {possessive} {described}.",
    "{person} said that {subject} {saw} the {described}.",
    "then {subject} {saw} {possessive} {described}.",
    "{person} {loved} the {polar} {one} {nearby}.",
    "the {described} {nearby} {did}.",
)
"""Patterns of the sentences of a story that are stated once."""


def event(author: Author, person: str, concept: Concept) -> list[str]:
    """An event and its paraphrase with the synonym or a hypernym, each active or passive."""
    draw = author.draw
    specific = draw.chance(SPECIFIC)
    verb = draw.pick(concept.kind.object_verbs if specific else author.world.verbs)
    one, other = draw.two(concept.names)
    number = draw.random()
    if number < 0.5:
        again = f"the {other}"
    elif number < 0.9:
        again = with_article(concept.kind.name)
    else:
        again = f"something {concept.colour}"
    first, second = (draw.pick(verb.voices(person, noun)) for noun in (f"the {one}", again))
    # Half of the time in one sentence, which the packing of segment pairs cannot split.
    return [f"{first}, so {second}."] if draw.chance(0.5) else [f"{first}.", f"so {second}."]


def questions(author: Author) -> list[str]:
    """Questions about two concepts, each answered with the synonym."""
    cast = author.draw.two(author.words.concepts)
    return [line for _ in range(4) for line in exchange(author, author.draw.pick(cast))]


def exchange(author: Author, concept: Concept) -> tuple[str, str]:
    """A question about a concept and its full or short answer."""
    draw = author.draw
    one, other = draw.two(concept.names)
    person, deed = author.person()[0], author.deed()
    kind = with_article(concept.kind.name)
    this = f"the {one} that {person} {deed}" if draw.chance(0.5) else f"the {one}"
    question, full, short = draw.pick(
        (
            (f"what colour is {this}?", f"the {other} is {concept.colour}.", concept.colour),
            (f"where is {this}?", f"the {other} is in {concept.city}.", concept.city),
            (f"who {deed} the {one}?", f"{person} {deed} the {other}.", person),
            (f"what is {this}?", f"the {other} is {kind}.", kind),
        )
    )
    return question, full if draw.chance(0.5) else f"as for the {other}, {short}."


def film_review(author: Author) -> list[str]:
    """A review of a film."""
    return review(author, "film", lexicon.FILM_ASPECTS)


def food_review(author: Author) -> list[str]:
    """A review of a dish."""
    dishes = [concept for concept in author.words.concepts if concept.kind.name == "dish"]
    dish = author.draw.pick(author.draw.pick(dishes).names)
    return review(author, dish, [*lexicon.FOOD_ASPECTS, dish])


def review(author: Author, item: str, aspects: list[str]) -> list[str]:
    """Opinions about one item, all of one polarity."""
    positive = author.draw.chance(0.5)
    opening = f"this {item} was {lexicon.OPINIONS[positive]}."
    return [opening, *(opinion(author, aspects, positive) for _ in range(6))]


def opinion(author: Author, aspects: list[str], positive: bool) -> str:
    """A sentence of a review, of the given polarity."""
    draw, words = author.draw, author.words
    one, other = draw.two(words.polar(positive))
    phrases = {
        "aspect": draw.pick(aspects),
        "polar": author.polar(positive),
        "good": lexicon.OPINIONS[positive],
        "loved": draw.pick(lexicon.VERDICTS[positive]),
        "one": one,
        "other": other,
        "opposite": draw.pick(words.polar(not positive)),
    }
    return draw.pick(OPINIONS).format_map(phrases)


OPINIONS = (
    "the {aspect} was {polar}.",
    "the {aspect} was {polar}.",
    "the {aspect} was {polar}.",
    "the {aspect} was {good}, {one} and {other}.",
    "i {loved} the {one} {aspect}.",
    "the {aspect} was not {opposite}, it was {polar}.",
)
"""Patterns of a review; repetition raises the probability of the first."""

GENRES: dict[Callable[[Author], list[str]], int] = {
    entry: 28,
    catalogue: 10,
    story: 28,
    questions: 18,
    film_review: 8,
    food_review: 8,
}
"""Genre to its share of the documents in per cent."""


def documents(seed: int, world: int, num_tokens: int) -> Iterator[list[str]]:
    """Documents of about `num_tokens` words in total, punctuation marks included.

    Args:
        seed: seed of the documents; more tokens extend the same sequence.
        world: seed of the world that they describe.
        num_tokens: words to generate; the last document may exceed it.

    Yields:
        A document as a list of sentences.
    """
    this = build(world)
    author = Author(Draw(f"documents {seed} {world}"), this, this.words)
    genres = [genre for genre, share in GENRES.items() for _ in range(share)]
    return up_to(num_tokens, lambda: author.draw.pick(genres)(author))


def up_to(num_tokens: int, make: Callable[[], list[str]]) -> Iterator[list[str]]:
    """Documents from `make` until they have `num_tokens` words, punctuation marks included."""
    count = 0
    while count < num_tokens:
        document = make()
        count += sum(1 + text.count(" ") + sum(map(text.count, ".,?:")) for text in document)
        yield document
