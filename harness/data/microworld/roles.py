"""Semantic roles: the arguments of one verb of a sentence, in the labels of CoNLL-2005.

Passives, relative clauses and complement clauses separate roles from positions; of verbs without
an object, the kind of the subject decides.
"""

from collections.abc import Callable

from harness.data.microworld import lexicon
from harness.data.microworld.sampler import Sampler
from harness.data.microworld.sampling import Item

ROLE_TAGS = (
    *("O", "B-V", "B-A0", "I-A0", "B-A1", "I-A1", "B-R-A0", "B-R-A1"),
    *("B-AM-LOC", "I-AM-LOC", "B-AM-TMP", "B-AM-DIS"),
)
"""IOB2. An argument has all of its words: the preposition, and a relative clause."""
SUBJECT = "S"
"""In a pattern, the role of a subject whose verb has no object."""
ACTING = ("animal", "worker")
"""Kinds whose subjects act (A0: complain); the others undergo (A1: rust), as in PropBank (Palmer et
al. 2005, section 3)."""

ROLE_PATTERNS = (
    "[A0 {agent}] [V {saw}] [A1 {thing}] .",
    "[A1 {thing}] was [V {seen}] [A0 by {agent}] .",
    "[A0 {agent}] [V {saw}] [A1 {thing}] [AM-LOC in {city}] .",
    "[A1 {thing}] was [V {seen}] [AM-LOC in {city}] .",
    "[AM-LOC in {city}] , [A1 {thing}] was [V {seen}] [A0 by {agent}] .",
    "[AM-TMP then] [A0 {agent}] [V {saw}] [A1 {thing}] .",
    "[AM-TMP then] [A1 {thing}] was [V {seen}] [A0 by {agent}] .",
    # Each verb of two clauses:
    "[A0 {agent}] [V {saw}] [A1 {thing}] , so {thing} was {seen} by {agent} .",
    "{agent} {saw} {thing} , [AM-DIS so] [A1 {thing}] was [V {seen}] [A0 by {agent}] .",
    "[A0 {agent}] [V {saw}] [A1 {noun} that {agent} {saw}] .",
    "{agent} {saw} [A1 {noun}] [R-A1 that] [A0 {agent}] [V {saw}] .",
    "[A0 {agent}] [V {saw}] [A1 {worker} that {saw} {thing}] .",
    "{agent} {saw} [A0 {worker}] [R-A0 that] [V {saw}] [A1 {thing}] .",
    "[A1 {noun} that {agent} {saw}] was [V {seen}] [A0 by {agent}] .",
    "[A1 {noun}] [R-A1 that] [A0 {agent}] [V {saw}] was {seen} by {agent} .",
    "[A0 {worker} that was {seen} by {agent}] [V {saw}] [A1 {thing}] .",
    "[A1 {worker}] [R-A1 that] was [V {seen}] [A0 by {agent}] {saw} {thing} .",
    "[A0 {agent}] [V said] [A1 that {agent} {saw} {thing}] .",
    "{agent} said that [A0 {agent}] [V {saw}] [A1 {thing}] .",
    "{agent} said that [A1 {thing}] was [V {seen}] [A0 by {agent}] .",
    # Verbs without an object:
    "[S {subject}] [V {did}] [AM-LOC in {city}] .",
    "[S {subject} that {agent} {saw}] [V {did}] .",
    "{agent} said that [S {subject}] [V {did}] .",
)
"""Sentences with the arguments of the verb V in brackets; every slot is filled anew."""


def semantic_roles(sampler: Sampler, number: int) -> Item:
    """Words, the index of the verb whose arguments are labelled, and the tag of each word."""
    concept = sampler.concept()
    slots = {
        **SLOTS,
        "{subject}": lambda s: f"the {s.draw.pick(concept.names)}",
        "{did}": lambda s: s.draw.pick(concept.kind.subject_verbs).past,
    }
    words: list[str] = []
    tags: list[str] = []
    for role, piece in _pieces(sampler.draw.pick(ROLE_PATTERNS)):
        filled = " ".join(slots[p](sampler) if p in slots else p for p in piece.split())
        if role == SUBJECT:
            role = "A0" if concept.kind.name in ACTING else "A1"
        for place, word in enumerate(filled.split()):
            words.append(word)
            tags.append(f"{'I' if place else 'B'}-{role}" if role else "O")
    return Item({"words": words, "predicate": tags.index("B-V")}, {"roles": tags}, tags)


def _pieces(pattern: str) -> list[tuple[str, str]]:
    """The role (empty outside arguments) and the text of each part of a pattern, in order."""
    pieces = []
    for part in pattern.split("["):
        argument, bracket, rest = part.rpartition("]")
        if bracket:
            role, _, text = argument.partition(" ")
            pieces.append((role, text))
        pieces.append(("", rest))
    return pieces


def agent(sampler: Sampler) -> str:
    """A person, by name or by profession."""
    return sampler.draw.pick((_name, worker))(sampler)


def worker(sampler: Sampler) -> str:
    """A person, by profession."""
    return f"the {_noun(sampler, ('worker',))}"


def noun(sampler: Sampler) -> str:
    """A thing or a worker, sometimes with an adjective."""
    return f"the {_noun(sampler, tuple(lexicon.NOUNS))}"


def thing(sampler: Sampler) -> str:
    """Whatever a verb takes as object: a person, or a thing, sometimes beside another."""
    draw = sampler.draw
    if draw.chance(0.3):
        return agent(sampler)
    beside = f" {draw.pick(lexicon.NEIGHBOURHOOD)} {noun(sampler)}" if draw.chance(0.3) else ""
    return noun(sampler) + beside


def _name(sampler: Sampler) -> str:
    return sampler.draw.pick(sampler.words.people)


def _noun(sampler: Sampler, kinds: tuple[str, ...]) -> str:
    draw = sampler.draw
    concept = draw.pick([c for c in sampler.words.concepts if c.kind.name in kinds])
    name = draw.pick(concept.names)
    if not draw.chance(0.3):
        return name
    return f"{draw.pick((concept.colour, *concept.kind.adjectives))} {name}"


SLOTS: dict[str, Callable[[Sampler], str]] = {
    "{agent}": agent,
    "{worker}": worker,
    "{noun}": noun,
    "{thing}": thing,
    "{city}": lambda s: s.draw.pick(s.words.cities),
    "{saw}": lambda s: s.deed(),
    "{seen}": lambda s: s.draw.pick(s.world.verbs).participle,
}
"""Slot to its filler; `semantic_roles` adds those of verbs without an object."""
