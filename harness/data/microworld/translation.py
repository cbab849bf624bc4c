"""Translation into three generated languages of increasing distance from English.

Clauses are drawn first and expressed in both languages. Every English word has its own stem in the
other language. Train and validation have different sentences with the same vocabulary, because a
word without a training example cannot be translated.
"""

from dataclasses import dataclass
from functools import cache
from itertools import product

from harness.data.microworld import lexicon
from harness.data.microworld.morphology import Verb
from harness.data.microworld.random_draws import Draw
from harness.data.microworld.sampler import Sampler
from harness.data.microworld.sampling import DataSet, Item, check
from harness.data.microworld.world import World, build

SIZES = {"train": 2_000, "validation": 300}
"""Train has dozens of examples of every word; validation is small because decoding is slow."""
KIND_ENDINGS = "ktpmsx"
"""Endings of adjectives by the kind of their noun, in the order of `lexicon.NOUNS`."""
STEM_SYLLABLES = 2


@dataclass(frozen=True)
class Phrase:
    """A noun phrase: a person, a thing, or several things."""

    determiner: str = ""
    adjective: str = ""
    noun: str = ""
    plural: str = ""
    """English plural of the noun; empty in the singular."""
    kind: str = ""

    @property
    def english(self) -> str:
        """The English text."""
        determiner = "these" if self.plural and self.determiner == "this" else self.determiner
        return " ".join(filter(None, (determiner, self.adjective, self.plural or self.noun)))


@dataclass(frozen=True)
class Clause:
    """A subject, a verb, an object and a place."""

    subject: Phrase
    verb: Verb
    object: Phrase
    preposition: str
    place: Phrase

    @property
    def english(self) -> str:
        """The English text."""
        place = f"{self.preposition} {self.place.english}"
        return f"{self.subject.english} {self.verb.past} {self.object.english} {place}."


@dataclass(frozen=True)
class Language:
    """A grammar and its sounds. Stems end in a vowel, endings in a consonant."""

    name: str
    consonants: str
    order: str
    """Order of subject, verb, object and place, by their first letters."""
    plural: str
    """Ending of a plural noun."""
    definite: str = ""
    """Ending of a definite noun; empty if the article is a word."""
    object: str = ""
    """Ending of an object; empty if only word order marks it."""
    postpositions: bool = False
    agreement: bool = False
    """Whether adjectives agree with the kind and number of their noun."""

    def translate(self, clause: Clause, stems: dict[str, str]) -> str:
        """The translation of a clause.

        Args:
            stems: English base form to stem.
        """
        place = [stems[clause.preposition], *self.phrase(clause.place, stems)]
        if self.postpositions:
            place = place[1:] + place[:1]
        parts = {
            "s": self.phrase(clause.subject, stems),
            "v": [stems[clause.verb.base]],
            "o": self.phrase(clause.object, stems, self.object),
            "p": place,
        }
        return " ".join(word for part in self.order for word in parts[part]) + "."

    def phrase(self, phrase: Phrase, stems: dict[str, str], case: str = "") -> list[str]:
        """The words of a phrase; adjectives follow their noun in all three languages."""
        plural = self.plural if phrase.plural else ""
        article_is_ending = bool(self.definite) and phrase.determiner == "the"
        noun = stems[phrase.noun] + (self.definite if article_is_ending else "") + plural + case
        words = [noun]
        if phrase.determiner and not article_is_ending:
            words.insert(0, stems[phrase.determiner])
        if phrase.adjective:
            words.append(stems[phrase.adjective] + self._agreed(phrase, plural))
        return words

    def _agreed(self, phrase: Phrase, plural: str) -> str:
        if not self.agreement:
            return ""
        return dict(zip(lexicon.NOUNS, KIND_ENDINGS, strict=True))[phrase.kind] + plural


LANGUAGES = {
    "a": Language("a", "bdglmnrst", order="svop", plural="n"),
    "b": Language("b", "fhklmprsv", order="psov", plural="r", object="m", postpositions=True),
    "c": Language(
        "c", "bdghkmntz", "vpos", "iz", definite="an", object="ur", postpositions=True,
        agreement=True,
    ),
}  # fmt: skip


@cache
def stems(language: str, world: int) -> dict[str, str]:
    """English base form to its stem, a different one for every word."""
    target, draw = LANGUAGES[language], Draw(f"language {language} {world}")
    syllables = ["".join(pair) for pair in product(target.consonants, "aeiou")]
    words = product(syllables, repeat=STEM_SYLLABLES)
    return dict(zip(_lemmas(build(world)), draw.order(["".join(w) for w in words]), strict=False))


@dataclass(frozen=True)
class Translated(DataSet):
    """Columns `source`, an English sentence, and `target`, its translation."""

    language: str
    """Name in LANGUAGES."""

    def made(self, split: str, world: int) -> list[Item]:
        """The examples of a split with their answers."""
        check("split", split, tuple(self.sizes))  # all splits are parts of one sequence
        target, words = LANGUAGES[self.language], stems(self.language, world)
        train = SIZES["train"]
        number = self.sizes["train"] if split == "train" else sum(SIZES.values())
        clauses = _clauses(self.name, world, number)
        chosen = clauses[:train] if split == "train" else clauses[train:]
        pairs = [(clause.english, target.translate(clause, words)) for clause in chosen]
        return [Item({"source": one}, {"target": other}, other) for one, other in pairs]


def _clauses(name: str, world: int, number: int) -> list[Clause]:
    """The first of all clauses, which differ: those of train, then those of validation."""
    this, draw = build(world), Draw(f"{name} {world}")
    sampler = Sampler(draw, this, this.words)
    made: dict[str, Clause] = {}
    while len(made) < number:
        clause = _clause(sampler)
        made.setdefault(clause.english, clause)
    return list(made.values())


def _clause(sampler: Sampler) -> Clause:
    draw = sampler.draw
    subject = _thing(sampler)
    if draw.chance(0.5):
        subject = Phrase(noun=draw.pick(sampler.words.people))
    near = draw.pick(lexicon.NEIGHBOURHOOD)
    verb = draw.pick(sampler.world.verbs)
    return Clause(subject, verb, _thing(sampler), near, _thing(sampler))


def _thing(sampler: Sampler) -> Phrase:
    draw, concept = sampler.draw, sampler.concept()
    which = draw.pick((0, 1))
    plural = concept.plurals[which] if draw.chance(0.4) else ""
    adjectives = (*concept.kind.adjectives, draw.pick(sampler.words.colours))
    adjective = draw.pick(adjectives) if draw.chance(0.5) else ""
    determiner = draw.pick(("the", "the", "this"))
    return Phrase(determiner, adjective, concept.names[which], plural, concept.kind.name)


def _lemmas(world: World) -> list[str]:
    """The base forms of all English words of the sentences."""
    nouns = [name for concept in world.words.concepts for name in concept.names]
    adjectives = [adjective for kind in world.kinds for adjective in kind.adjectives]
    verbs = [verb.base for verb in world.verbs]
    others = ["the", "this", *lexicon.NEIGHBOURHOOD, *world.words.people, *world.words.colours]
    return sorted({*nouns, *adjectives, *verbs, *others})
