"""The English morphology that the micro-world needs."""

from dataclasses import dataclass

VOWELS = "aeiou"


def inflect(word: str) -> str:
    """The plural of a noun, or the third person of a verb."""
    if word.endswith(("s", "x", "z", "ch", "sh")):
        return word + "es"
    if word.endswith("y") and word[-2] not in VOWELS:
        return word[:-1] + "ies"
    return word + "s"


def with_article(phrase: str) -> str:
    """The phrase after "a" or "an"."""
    return f"an {phrase}" if phrase[0] in VOWELS else f"a {phrase}"


@dataclass(frozen=True)
class Verb:
    """The forms of a verb: see, sees, saw, seen."""

    base: str
    third: str
    past: str
    participle: str

    def voices(self, doer: str, thing: str) -> tuple[str, str]:
        """The active and the passive past clause, without a full stop."""
        return f"{doer} {self.past} {thing}", f"{thing} was {self.participle} by {doer}"


def parse_verb(forms: str) -> Verb:
    """A verb from `base`, `base/past` or `base/past/participle`; omitted forms are regular."""
    base, *irregular = forms.split("/")
    past = irregular[0] if irregular else base + ("d" if base.endswith("e") else "ed")
    return Verb(base, inflect(base), past, irregular[-1] if irregular else past)


def parse_verbs(words: str) -> tuple[Verb, ...]:
    """Verbs in the notation of `parse_verb`, separated by spaces."""
    return tuple(map(parse_verb, words.split()))


@dataclass(frozen=True)
class Pronouns:
    """The pronouns that refer to a person: she, her."""

    subject: str
    possessive: str


SHE = Pronouns("she", "her")
HE = Pronouns("he", "his")
