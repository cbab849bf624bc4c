"""The pretraining corpus: coherent documents in seven genres, from a seed."""

from collections.abc import Callable, Iterator

from harness.microworld import lexicon
from harness.microworld.world import Concept, Draw, Words, World, with_article
from harness.microworld.world import world as make_world

CUE = 0.9
"""Share of the polar adjectives that stand beside an adverb of their polarity."""


class Author:
    """Phrases in the words of a world; every one about a concept picks one of its synonyms."""

    def __init__(self, seed: int, world: World) -> None:
        self.draw = Draw(seed)
        self.world = world
        self.words: Words = world.words
        self.people = self.words.people

    def singular(self, concept: Concept) -> str:
        """One of the two names."""
        return concept.names[self.draw.random() < 0.5]

    def plural(self, concept: Concept) -> str:
        """One of the two names, in the plural."""
        return concept.plurals[self.draw.random() < 0.5]

    def described(self, concept: Concept) -> str:
        """A name, often with an adjective that fits the concept."""
        name = self.singular(concept)
        if self.draw.chance(0.3):
            return name
        if self.draw.chance(0.6):
            return f"{concept.colour} {name}"
        return f"{self.draw.pick(concept.kind.adjectives)} {name}"

    def neighbour(self, concept: Concept) -> str:
        """A phrase that names another thing, of either number."""
        other = self.draw.pick(self.words.concepts)
        name = self.plural(other) if self.draw.chance(0.5) else self.singular(other)
        return f"{self.draw.pick(lexicon.NEIGHBOURHOOD)} the {name}"

    def polar(self, positive: bool) -> str:
        """An adjective of a polarity, mostly with an adverb that gives it away."""
        adjective = self.draw.pick(self.words.polar(positive))
        if self.draw.chance(CUE):
            return f"{self.draw.pick(lexicon.ADVERBS[positive])} {adjective}"
        return f"{self.draw.pick(lexicon.NEUTRAL_ADVERBS)} {adjective}"

    def person(self) -> str:
        """A name."""
        return self.draw.pick(self.people)

    def pronouns(self, person: str) -> tuple[str, str]:
        """Subject and possessive pronoun of a person."""
        return ("she", "her") if person in self.words.women else ("he", "his")


def fact(author: Author, concept: Concept) -> str:
    """A sentence about a concept that is true in the world."""
    draw, kind = author.draw, concept.kind
    one, other = author.draw.order(concept.names)
    many = author.plural(concept)
    number = int(draw.random() * 16)
    if number == 14:
        return f"the {one}, or {other}, {draw.pick(kind.subject_verbs).third}."
    if number == 15:
        more = concept.plurals[concept.plurals[0] == many]
        return f"{many}, or {more}, are {draw.pick(kind.adjectives)} {kind.plural}."
    if number == 0:
        return f"{with_article(one)} is a kind of {kind.name}."
    if number == 1:
        return f"all {many} are {kind.plural}."
    if number == 2:
        return f"{with_article(one)} is also called {with_article(other)}."
    if number == 3:
        return f"the {one} is {concept.colour} and the {other} is {concept.colour}."
    if number == 4:
        return f"most {many} are {concept.colour}."
    if number == 5:
        return f"the {one}, {with_article(kind.name)}, is in {concept.city}."
    if number == 6:
        return f"many {many} are found in {concept.city}."
    if number == 7:
        return f"the {one} {author.neighbour(concept)} {draw.pick(kind.subject_verbs).third}."
    if number == 8:
        return f"the {many} {author.neighbour(concept)} {draw.pick(kind.subject_verbs).base}."
    if number == 9:
        return f"these {many} are {draw.pick(kind.adjectives)}."
    if number == 10:
        return f"this {one} is {draw.pick(kind.adjectives)}."
    if number == 11:
        return f"people {draw.pick(kind.object_verbs).base} these {many}."
    if number == 12:
        return f"every {one} {draw.pick(kind.subject_verbs).third}."
    return f"the {concept.colour} {one} {draw.pick(kind.subject_verbs).past}."


def entry(author: Author) -> list[str]:
    """An encyclopedia entry: facts about one concept."""
    concept = author.draw.pick(author.words.concepts)
    return [fact(author, concept) for _ in range(8)]


def catalogue(author: Author) -> list[str]:
    """Members of one kind, side by side."""
    draw = author.draw
    kind = draw.pick(author.world.kinds)
    members = [concept for concept in author.words.concepts if concept.kind is kind]
    sentences = []
    for _ in range(6):
        one, other = draw.two(members)
        if draw.chance(0.35):
            many, more = author.plural(one), author.plural(other)
            verb = draw.pick(kind.subject_verbs).base
            sentences.append(f"{kind.plural} such as {many} and {more} {verb}.")
        elif draw.chance(0.5):
            verb = draw.pick(author.world.verbs + kind.object_verbs).participle
            first, second = author.described(one), author.described(other)
            sentences.append(f"the {first}, the {second} and other {kind.plural} were {verb}.")
        else:
            sentences.append(fact(author, draw.pick((one, other))))
    return sentences


def event(author: Author, person: str, concept: Concept) -> list[str]:
    """Something that happens, told twice: in other words, in another voice, or in general terms."""
    draw = author.draw
    specific = draw.chance(0.5)
    verb = draw.pick(concept.kind.object_verbs if specific else author.world.verbs)
    one, other = draw.order(concept.names)
    voices = (f"{person} {verb.past} {{}}", f"{{}} was {verb.participle} by {person}")
    first = draw.pick(voices).format(f"the {one}")
    number = draw.random()
    if number < 0.5:
        again = draw.pick(voices).format(f"the {other}")
    elif number < 0.9:
        again = draw.pick(voices).format(with_article(concept.kind.name))
    else:
        again = draw.pick(voices).format(f"something {concept.colour}")
    if draw.chance(0.5):
        return [f"{first}, so {again}."]
    return [f"{first}.", f"so {again}."]


def story(author: Author) -> list[str]:
    """A person and two things, with pronouns, opinions and events told twice."""
    draw = author.draw
    person = author.person()
    subject, possessive = author.pronouns(person)
    cast = draw.two(author.words.concepts)
    sentences: list[str] = []
    for _ in range(5):
        concept = draw.pick(cast)
        number = int(draw.random() * 8)
        if number < 4:
            sentences += event(author, person, concept)
        elif number == 4:
            verb = draw.pick(author.world.verbs).past
            sentences.append(f"{person} {verb} {possessive} {author.described(concept)}.")
        elif number == 5:
            name = author.described(concept)
            verb = draw.pick(author.world.verbs).past
            sentences.append(f"{person} said that {subject} {verb} the {name}.")
        elif number == 6:
            positive = draw.chance(0.5)
            phrase = f"{author.polar(positive)} {author.singular(concept)}"
            verdict = draw.pick(lexicon.VERDICTS[positive])
            sentences.append(f"{person} {verdict} the {phrase} {author.neighbour(concept)}.")
        else:
            name, verb = author.described(concept), draw.pick(concept.kind.subject_verbs).past
            sentences.append(f"the {name} {author.neighbour(concept)} {verb}.")
    return sentences


def questions(author: Author) -> list[str]:
    """Questions about two concepts, each with its answer in other words."""
    draw = author.draw
    cast = draw.two(author.words.concepts)
    sentences = []
    for _ in range(4):
        concept = draw.pick(cast)
        one, other = draw.order(concept.names)
        number = int(draw.random() * 4)
        verb = draw.pick(author.world.verbs).past
        person = author.person()
        short = draw.chance(0.5)
        if number == 0:
            asked = f"what colour is the {one}?"
            full, answer = f"the {other} is {concept.colour}.", concept.colour
        elif number == 1:
            asked = f"where is the {one}?"
            full, answer = f"the {other} is in {concept.city}.", concept.city
        elif number == 2:
            asked = f"who {verb} the {one}?"
            full, answer = f"{person} {verb} the {other}.", person
        else:
            answer = with_article(concept.kind.name)
            asked, full = f"what is the {one}?", f"the {other} is {answer}."
        sentences += [asked, f"as for the {other}, {answer}." if short else full]
    return sentences


def review(author: Author, item: str, aspects: list[str]) -> list[str]:
    """An opinion about one thing, of one polarity throughout."""
    draw = author.draw
    positive = draw.chance(0.5)
    opinion, polarity = lexicon.OPINIONS[positive], author.words.polar(positive)
    sentences = [f"this {item} was {opinion}."]
    for _ in range(6):
        aspect = draw.pick(aspects)
        number = int(draw.random() * 6)
        if number < 3:
            sentences.append(f"the {aspect} was {author.polar(positive)}.")
        elif number == 3:
            one, other = draw.two(polarity)
            sentences.append(f"the {aspect} was {opinion}, {one} and {other}.")
        elif number == 4:
            verdict = draw.pick(lexicon.VERDICTS[positive])
            sentences.append(f"i {verdict} the {draw.pick(polarity)} {aspect}.")
        else:
            opposite = draw.pick(author.words.polar(not positive))
            phrase = author.polar(positive)
            sentences.append(f"the {aspect} was not {opposite}, it was {phrase}.")
    return sentences


def film_review(author: Author) -> list[str]:
    """A review of a film."""
    return review(author, "film", lexicon.FILM_ASPECTS)


def food_review(author: Author) -> list[str]:
    """A review of a dish."""
    dishes = [concept for concept in author.words.concepts if concept.kind.name == "dish"]
    dish = author.singular(author.draw.pick(dishes))
    return review(author, dish, [*lexicon.FOOD_ASPECTS, dish])


GENRES: dict[Callable[[Author], list[str]], float] = {
    entry: 0.28,
    catalogue: 0.1,
    story: 0.3,
    questions: 0.18,
    film_review: 0.07,
    food_review: 0.07,
}
"""Genre -> its share of the documents."""


def documents(seed: int, world: int, num_tokens: int) -> Iterator[list[str]]:
    """Documents of about `num_tokens` words in all (words and punctuation marks count).

    Args:
        seed: Seed of the documents.
        world: Seed of the world that they tell of.
        num_tokens: Words to generate; the last document may exceed it.

    Yields:
        A document as a list of sentences.
    """
    author = Author(seed, make_world(world))
    genres = [genre for genre, share in GENRES.items() for _ in range(round(100 * share))]
    told = 0
    while told < num_tokens:
        document = author.draw.pick(genres)(author)
        told += sum(sentence.count(" ") + 2 for sentence in document)
        yield document
