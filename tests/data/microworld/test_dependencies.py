"""Heads of the micro-world: trees by hand, and trees without crossing arcs."""

from itertools import combinations

import pytest

from harness.data.microworld.dependencies import HEAD_TAGS, PATTERNS, ROOT
from harness.data.microworld.examples import GENERATORS

SPLITS = ("train", "validation")
Sentence = tuple[list[str], list[str]]


def sentences(split: str) -> list[Sentence]:
    rows = GENERATORS["word_heads"](split, 0)
    return list(zip(rows["words"], rows["heads"], strict=True))


def places(tags: list[str]) -> list[int | None]:
    """The place of the head of each word; None of the root."""
    return [None if tag == ROOT else place + int(tag) for place, tag in enumerate(tags)]


@pytest.mark.parametrize("split", SPLITS)
def test_heads_are_trees_without_crossing_arcs(split: str) -> None:
    for words, tags in sentences(split):
        assert len(words) == len(tags) and set(tags) <= set(HEAD_TAGS)
        heads = places(tags)
        assert heads.count(None) == 1
        for start in range(len(words)):
            place: int | None = start
            for _ in words:
                place = None if place is None else heads[place]
            assert place is None  # the root, within as many steps
        arcs = [sorted((n, head)) for n, head in enumerate(heads) if head is not None]
        for (a, b), (c, d) in combinations(arcs, 2):
            assert not (a < c < b < d or c < a < d < b)


@pytest.mark.parametrize("split", SPLITS)
def test_heads_follow_from_the_words(split: str) -> None:
    """By rules other than the patterns."""
    for words, tags in sentences(split):
        named = [ROOT if head is None else words[head] for head in places(tags)]
        for place, (word, head) in enumerate(zip(words, named, strict=True)):
            after = words[place + 1 :]
            if word == "was":
                assert head == after[0]
            elif word == "the":
                assert head in after[:2]
            elif word in ("by", "in", "near", "beside", "behind"):
                assert head in after[:3] and head not in ("the", ".")
            elif word == ".":
                assert head == words[places(tags).index(None)]
            elif word == "said":
                assert head == ROOT and named[place - 1] == "said"


@pytest.mark.parametrize(
    ("sentence", "heads"),
    [
        ("the red car near the dog was seen by ann .", "car car seen dog dog car seen ROOT ann"),
        ("ann said that bo saw the car .", "said ROOT saw saw said car saw"),
    ],
)
def test_a_sentence_of_each_kind_by_hand(sentence: str, heads: str) -> None:
    """Sentences of the same forms: nouns and verbs have the same places."""
    wanted = [word if word != "ROOT" else None for word in heads.split()]
    words = sentence.split()
    shape = [words.index(word) if word else None for word in wanted]
    same = [
        places(tags)[: len(shape)]
        for found, tags in [*sentences("train"), *sentences("validation")]
        if len(found) == len(words) and _form(found) == _form(words)
    ]
    assert same and all(one == shape for one in same)


def _form(words: list[str]) -> list[str]:
    closed = ("the", "was", "by", "near", "beside", "behind", "said", "that", "in", "so", ",", ".")
    near = {"beside": "near", "behind": "near"}
    return [near.get(word, word) if word in closed else "-" for word in words]


def test_every_pattern_has_one_root_and_known_heads() -> None:
    for pattern in PATTERNS:
        heads = [int(part.rpartition(">")[2]) for part in pattern.split()]
        assert heads.count(0) == 1 and max(heads) <= len(heads)
