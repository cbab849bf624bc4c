"""The corpus: determined by its seed, of the requested length, with each word in each role."""

import hashlib
import itertools
import re
import subprocess
import sys

import pytest

from harness.data import microworld
from harness.data.microworld import documents
from harness.data.microworld.documents import GENRES
from harness.data.microworld.world import build

WORDS = re.compile(r"[a-z]+|[.,?]")


def digest(texts: list[str]) -> str:
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:16]


@pytest.fixture(scope="module")
def corpus() -> list[list[str]]:
    return list(documents.documents(seed=0, world=0, num_tokens=300_000))


def test_length(corpus: list[list[str]]) -> None:
    tokens = sum(len(WORDS.findall(sentence)) for document in corpus for sentence in document)
    assert 300_000 <= tokens < 300_200


def test_text_is_plain_lower_case(corpus: list[list[str]]) -> None:
    for sentence in itertools.chain(*corpus):
        assert re.fullmatch(r"[a-z]+(,? [a-z]+)*[.?]", sentence), sentence


def test_a_document_is_several_sentences(corpus: list[list[str]]) -> None:
    assert min(map(len, corpus)) >= 5
    assert sum(GENRES.values()) == 100


def test_documents_depend_on_the_seed() -> None:
    def start(seed: int, world: int, num_tokens: int = 5_000) -> list[list[str]]:
        return list(itertools.islice(documents.documents(seed, world, num_tokens), 50))

    assert start(0, 0) == start(0, 0, num_tokens=9_000)
    assert start(0, 0) != start(1, 0)
    assert start(0, 0) != start(0, 1)


def test_the_version_names_this_text() -> None:
    """A change of the text needs a new VERSION, then a new digest here."""
    texts = documents.documents(seed=3, world=0, num_tokens=20_000)
    assert microworld.VERSION == "1"
    assert digest(list(itertools.chain(*texts))) == "760adb0f65dcb5de"


def test_every_noun_occurs_in_every_role(corpus: list[list[str]]) -> None:
    text = " ".join(itertools.chain(*corpus))
    counted = {
        role: set(re.findall(pattern, text))
        for role, pattern in {
            "after the": r"the (\w+)",
            "behind": r"(?:near|beside|behind) the (\w+)",
            "asked": r"the (\w+)\?",
            "answered": r"as for the (\w+),",
            "possessed": r"(?:her|his) (?:\w+ )?(\w+)\.",
            "subject of the passive": r"the (\w+) was \w+ by",
        }.items()
    }
    many = set(re.findall(r"(?:these|many) (\w+)", text))
    every = set(re.findall(r"(?:this|every) (\w+)", text))
    behind = counted["behind"]
    for concept in build(0).words.concepts:
        for role, found in counted.items():
            assert found.issuperset(concept.names), role
        assert many.issuperset(concept.plurals)
        assert every.issuperset(concept.names)
        assert behind.issuperset(concept.plurals)


def test_every_person_is_named_in_every_role(corpus: list[list[str]]) -> None:
    text = " ".join(itertools.chain(*corpus))
    roles = (r"by (\w+)\.", r"(\w+) \w+ (?:her|his) ", r"as for the \w+, (\w+)\.", r"(\w+) \w+ the")
    for role in roles:
        assert set(re.findall(role, text)).issuperset(build(0).words.people), role


def test_every_polar_adjective_is_negated_coordinated_and_graded(corpus: list[list[str]]) -> None:
    text = " ".join(itertools.chain(*corpus))
    words = build(0).words
    for role in (r"not (\w+),", r", (\w+) and", r"and (\w+)\.", r"(?:very|quite) (\w+)"):
        assert set(re.findall(role, text)).issuperset(words.positive + words.negative), role


def test_a_story_speaks_of_its_person_with_her_pronouns(corpus: list[list[str]]) -> None:
    women, men = (set(names) for names in (build(0).words.women, build(0).words.men))
    for document in corpus:
        words_of_document = " ".join(document).replace(".", "").split()
        if "her" in words_of_document or "she" in words_of_document:
            assert not men & set(words_of_document)
        if "his" in words_of_document or "he" in words_of_document:
            assert not women & set(words_of_document)


def test_it_imports_without_the_heavy_libraries() -> None:
    code = "import sys, harness.data.microworld; print(*sys.modules)"
    modules = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert not {"torch", "transformers", "datasets", "numpy"} & set(modules)
