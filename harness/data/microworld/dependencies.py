"""Dependency parsing: the head of each word of a sentence, as the distance to it.

Heads are those of Universal Dependencies (Nivre et al. 2016): a content word heads its determiner,
adjective, preposition and auxiliary; the verb of a relative or complement clause depends on the
noun or verb before it.
"""

from harness.data.microworld import lexicon
from harness.data.microworld.roles import SLOTS
from harness.data.microworld.sampler import Sampler
from harness.data.microworld.sampling import Item

ROOT = "root"
FARTHEST = 25
"""Longest distance that has a tag; no sentence has more than 27 words."""
HEAD_TAGS = (
    ROOT,
    *(f"-{distance}" for distance in range(1, FARTHEST + 1)),
    *(f"+{distance}" for distance in range(1, FARTHEST + 1)),
)
"""Distance to the head, negative to the left: the relative encoding of Strzyz et al. 2019, "Viable
dependency parsing as sequence labeling", NAACL, section 3."""

PATTERNS = (
    "{agent}>2 {saw}>0 {thing}>2 .>2",
    "{thing}>3 was>3 {seen}>0 by>5 {agent}>3 .>3",
    "{agent}>2 {saw}>0 {thing}>2 in>5 {city}>2 .>2",
    "in>2 {city}>6 ,>6 {thing}>6 was>6 {seen}>0 by>8 {agent}>6 .>6",
    "then>3 {agent}>3 {saw}>0 {thing}>3 .>3",
    "{agent}>2 {saw}>0 {thing}>2 ,>8 so>8 {thing}>8 was>8 {seen}>2 by>10 {agent}>8 .>2",
    "{agent}>2 {saw}>0 {noun}>2 that>6 {agent}>6 {saw}>3 .>2",
    "{agent}>2 {saw}>0 {worker}>2 that>5 {saw}>3 {thing}>5 .>2",
    "{noun}>6 that>4 {agent}>4 {saw}>1 was>6 {seen}>0 by>8 {agent}>6 .>6",
    "{worker}>7 that>4 was>4 {seen}>1 by>6 {agent}>4 {saw}>0 {thing}>7 .>7",
    "{agent}>2 said>0 that>5 {agent}>5 {saw}>2 {thing}>5 .>2",
    "{agent}>2 said>0 that>6 {thing}>6 was>6 {seen}>2 by>8 {agent}>6 .>2",
)
"""Sentences whose parts have the number of the part that heads them, from 1; 0: none. Every slot is
filled anew; within it, its last noun or its name is the head, or the noun before a preposition."""


def word_heads(sampler: Sampler, number: int) -> Item:
    """Words of a sentence, and the tag of each: the distance to its head."""
    parts, outer = [], []
    for piece in sampler.draw.pick(PATTERNS).split():
        name, _, number_of_head = piece.rpartition(">")
        parts.append((SLOTS[name](sampler) if name in SLOTS else name).split())
        outer.append(int(number_of_head))
    starts = [sum(map(len, parts[:place])) for place in range(len(parts))]
    inner = [_phrase_heads(words) for words in parts]
    tops = [start + heads.index(None) for start, heads in zip(starts, inner, strict=True)]
    tags = []
    for start, heads, head in zip(starts, inner, outer, strict=True):
        for place, own in enumerate(heads, start=start):
            if own is None and not head:
                tags.append(ROOT)
            else:
                target = tops[head - 1] if own is None else start + own
                tags.append(f"{target - place:+d}")
    words = [word for part in parts for word in part]
    return Item({"words": words}, {"heads": tags}, tags)


def _phrase_heads(words: list[str]) -> list[int | None]:
    """The place of the head of each word of a phrase; None of the head of the phrase."""
    cut = next((n for n, word in enumerate(words) if word in lexicon.NEIGHBOURHOOD), len(words))
    heads: list[int | None] = [cut - 1] * cut
    heads[cut - 1] = None
    if cut < len(words):  # the red cat | near the dog
        last = len(words) - 1
        heads += [last] * (len(words) - cut)
        heads[last] = cut - 1
    return heads
