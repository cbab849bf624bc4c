"""The world: words have one role each, facts distinguish concepts, splits are disjoint."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.data.microworld import lexicon
from harness.data.microworld.morphology import Verb, inflect, parse_verb, with_article
from harness.data.microworld.random_draws import Draw
from harness.data.microworld.world import CONCEPTS_PER_KIND, Words, build


def open_words(words: Words) -> set[str]:
    """Every form of every open word."""
    nouns = {form for concept in words.concepts for form in concept.names + concept.plurals}
    return nouns.union(words.positive, words.negative, words.people, words.colours, words.cities)


@pytest.mark.parametrize(
    ("word", "inflected"),
    [("dog", "dogs"), ("bus", "buses"), ("coach", "coaches"), ("berry", "berries"),
     ("donkey", "donkeys"), ("axe", "axes"), ("brush", "brushes")],
)  # fmt: skip
def test_inflect(word: str, inflected: str) -> None:
    assert inflect(word) == inflected


def test_parse_verb() -> None:
    assert parse_verb("see/saw/seen") == Verb("see", "sees", "saw", "seen")
    assert parse_verb("find/found") == Verb("find", "finds", "found", "found")
    assert parse_verb("bake") == Verb("bake", "bakes", "baked", "baked")
    assert parse_verb("park") == Verb("park", "parks", "parked", "parked")


def test_article() -> None:
    assert with_article("animal") == "an animal"
    assert with_article("tool") == "a tool"


def test_every_open_word_has_one_role() -> None:
    lists = [*lexicon.NOUNS.values(), *lexicon.OPEN_WORDS.values(), " ".join(lexicon.NOUNS)]
    lists += lexicon.KIND_ADJECTIVES.values()
    for verbs in (*lexicon.SUBJECT_VERBS.values(), *lexicon.OBJECT_VERBS.values()):
        lists.append(" ".join(set(verbs.replace("/", " ").split())))
    words = [word for text in lists for word in text.replace("/", " ").split()]
    assert len(words) == len(set(words))


def test_kinds_have_the_same_keys_everywhere() -> None:
    tables = (lexicon.SUBJECT_VERBS, lexicon.OBJECT_VERBS, lexicon.KIND_ADJECTIVES)
    assert all(list(table) == list(lexicon.NOUNS) for table in tables)


@given(st.integers(0, 1000))
def test_splits_share_no_open_word(seed: int) -> None:
    world = build(seed)
    assert not open_words(world.train) & open_words(world.validation)
    assert open_words(world.words) == open_words(world.train) | open_words(world.validation)


@given(st.integers(0, 1000))
def test_members_of_a_kind_differ_in_all_facts(seed: int) -> None:
    words = build(seed).words
    for kind in build(seed).kinds:
        members = words.members(kind)
        assert len(members) == CONCEPTS_PER_KIND
        assert len({concept.colour for concept in members}) == CONCEPTS_PER_KIND
        assert len({concept.city for concept in members}) == CONCEPTS_PER_KIND


def test_worlds_differ() -> None:
    assert build(0) != build(1)
    assert build(0) is build(0)


def test_draws_of_a_seed_never_change() -> None:
    draw = Draw(0)
    assert [draw.pick("abcdef") for _ in range(8)] == list("fecbdceb")


@given(st.integers(), st.integers(2, 9))
def test_two_items_differ(seed: int, count: int) -> None:
    first, second = Draw(seed).two(range(count))
    assert first != second
