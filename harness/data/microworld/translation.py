"""Translation into three generated languages, each farther from English than the one before.

Meanings are drawn first and said in both languages; every English word has one stem of the other
language, and no two share one. Train and validation have different sentences of the same words, for
a word that was never translated could not be: these are the only tasks of the world whose dev set
holds no new words.
"""

from dataclasses import dataclass
from functools import cache
from itertools import product

from harness.data.microworld import lexicon
from harness.data.microworld.grammar import Verb
from harness.data.microworld.labelled import Rows, check
from harness.data.microworld.random_draws import Draw
from harness.data.microworld.sampling import Item, columns
from harness.data.microworld.sentence_tasks import Examiner
from harness.data.microworld.world import World, build

SIZES = {"train": 2_000, "validation": 300}
"""Every word is translated dozens of times in train; decoding more of validation is slow."""
KIND_ENDINGS = "ktpmsx"
"""What an adjective ends in, by the kind of its noun, in the order of `lexicon.NOUNS`."""
STEM_SYLLABLES = 2


@dataclass(frozen=True)
class Phrase:
    """A person, or one thing or many of a sort."""

    determiner: str = ""
    adjective: str = ""
    noun: str = ""
    plural: str = ""
    """The noun's English form where it stands for many."""
    kind: str = ""

    @property
    def english(self) -> str:
        """As it is said in English."""
        determiner = "these" if self.plural and self.determiner == "this" else self.determiner
        return " ".join(filter(None, (determiner, self.adjective, self.plural or self.noun)))


@dataclass(frozen=True)
class Clause:
    """Who did what to what, and beside what."""

    subject: Phrase
    verb: Verb
    object: Phrase
    preposition: str
    place: Phrase

    @property
    def english(self) -> str:
        """As it is said in English."""
        place = f"{self.preposition} {self.place.english}"
        return f"{self.subject.english} {self.verb.past} {self.object.english} {place}."


@dataclass(frozen=True)
class Language:
    """A grammar and sounds. Stems end in a vowel, and what is put to them does not."""

    name: str
    consonants: str
    order: str
    """Of subject, verb, object and place, by their first letters."""
    plural: str
    """Ending of a noun that stands for many."""
    definite: str = ""
    """Ending of a noun with the article; empty if the article is a word."""
    object: str = ""
    """Ending of an object; empty if only its place tells."""
    postpositions: bool = False
    agreement: bool = False
    """Whether an adjective ends by the kind and the number of its noun."""

    def say(self, clause: Clause, stems: dict[str, str]) -> str:
        """The translation of a clause by a map of English words to stems."""
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
        """The words of a phrase: the adjective follows the noun in all three languages."""
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
    """English base form to stem: different for every word, the same whenever it is asked."""
    spoken, draw = LANGUAGES[language], Draw(f"language {language} {world}")
    syllables = ["".join(pair) for pair in product(spoken.consonants, "aeiou")]
    words = product(syllables, repeat=STEM_SYLLABLES)
    return dict(zip(_lemmas(build(world)), draw.order(["".join(w) for w in words]), strict=False))


@dataclass(frozen=True)
class Translated:
    """A task: sentences and what they are in a language."""

    name: str
    language: str

    def __call__(self, split: str, world: int = 0) -> Rows:
        """Columns `source` and `target`.

        Raises:
            ValueError: an unknown split.
        """
        check("split", split, tuple(SIZES))
        spoken, words = LANGUAGES[self.language], stems(self.language, world)
        clauses = _clauses(self.name, world)
        train = SIZES["train"]
        said = clauses[:train] if split == "train" else clauses[train:]
        targets = [spoken.say(clause, words) for clause in said]
        pairs = zip([clause.english for clause in said], targets, strict=True)
        return columns([Item({"source": one}, {"target": other}, other) for one, other in pairs])

    def answers(self, split: str, world: int = 0) -> list[str]:
        """What one who knows the language says."""
        return self(split, world)["target"]


def _clauses(name: str, world: int) -> list[Clause]:
    """Different sentences: those of train, then those of validation."""
    this, draw = build(world), Draw(f"{name} {world}")
    examiner = Examiner(draw, this, this.words)
    made: dict[str, Clause] = {}
    while len(made) < sum(SIZES.values()):
        clause = _clause(examiner)
        made.setdefault(clause.english, clause)
    return list(made.values())


def _clause(examiner: Examiner) -> Clause:
    draw = examiner.draw
    subject = _thing(examiner)
    if draw.chance(0.5):
        subject = Phrase(noun=draw.pick(examiner.words.people))
    near = draw.pick(lexicon.NEIGHBOURHOOD)
    verb = draw.pick(examiner.world.verbs)
    return Clause(subject, verb, _thing(examiner), near, _thing(examiner))


def _thing(examiner: Examiner) -> Phrase:
    draw, concept = examiner.draw, examiner.concept()
    which = draw.pick((0, 1))
    plural = concept.plurals[which] if draw.chance(0.4) else ""
    adjectives = (*concept.kind.adjectives, draw.pick(examiner.words.colours))
    adjective = draw.pick(adjectives) if draw.chance(0.5) else ""
    determiner = draw.pick(("the", "the", "this"))
    return Phrase(determiner, adjective, concept.names[which], plural, concept.kind.name)


def _lemmas(world: World) -> list[str]:
    """All English words of the sentences, in their base form."""
    nouns = [name for concept in world.words.concepts for name in concept.names]
    adjectives = [adjective for kind in world.kinds for adjective in kind.adjectives]
    verbs = [verb.base for verb in world.verbs]
    others = ["the", "this", *lexicon.NEIGHBOURHOOD, *world.words.people, *world.words.colours]
    return sorted({*nouns, *adjectives, *verbs, *others})
