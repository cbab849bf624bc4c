"""Coreference of the micro-world: clusters that follow from the text and the world, and from less
than that only in part."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Sequence
from itertools import pairwise
from typing import Any

import pytest

from harness.data.corpora.load_corpus import read_documents
from harness.data.corpora.sources import MicroworldCorpus
from harness.data.microworld.examples import GENERATORS
from harness.data.microworld.mentions import MENTION_TAGS, NUM_ENTITIES, NUM_PASSAGES
from harness.data.microworld.world import World, build
from harness.finetuning.baselines import make
from harness.tasks import TASKS
from harness.tasks.load_examples import load_examples
from harness.tasks.metrics import METRICS
from harness.tasks.metrics.coreference import entities

SPLITS = ("train", "validation")
PRONOUNS = ("she", "he", "it")
Passage = tuple[list[str], list[int]]


def passages(split: str) -> list[Passage]:
    rows = GENERATORS["mention_clusters"](split, 0)
    return list(zip(rows["words"], rows["tags"], strict=True))


def mentions(tags: Sequence[int]) -> list[tuple[int, int]]:
    """First and last word of each mention, in order."""
    found = entities([MENTION_TAGS[tag] for tag in tags])
    return sorted(mention for entity in found for mention in entity)


def score(found: list[list[int]], split: str = "validation") -> float:
    gold = [tuple(tags) for _, tags in passages(split)]
    return METRICS["coref_f1"](gold, [tuple(one) for one in found], None, MENTION_TAGS)


@pytest.mark.parametrize("split", SPLITS)
def test_four_entities_are_mentioned_again_and_numbered_in_order(split: str) -> None:
    for words, numbers in passages(split):
        tags = [MENTION_TAGS[number] for number in numbers]
        assert len(words) == len(tags)
        for before, tag in pairwise(["O", *tags]):
            assert not tag.startswith("I-") or before[1:] == tag[1:]
        found = entities(tags)
        assert len(found) == NUM_ENTITIES and all(len(entity) >= 2 for entity in found)
        firsts = [tag[2:] for tag in tags if tag != "O"]
        assert list(dict.fromkeys(firsts)) == ["1", "2", "3", "4"]


def referent(words: Sequence[str], last: int, world: World) -> str:
    """What a mention refers to, from what a reader knows: names with their gender, synonyms, kinds,
    and what only one kind does."""
    head = words[last]
    if head in ("she", *world.words.women):
        return "woman"
    if head in ("he", *world.words.men):
        return "man"
    if head == "it":
        verb = words[last + 2] if words[last + 1] == "was" else words[last + 1]
        return next(
            kind.name
            for kind in world.kinds
            if verb in {v.past for v in kind.subject_verbs}
            or (words[last + 1] == "was" and verb in {v.participle for v in kind.object_verbs})
        )
    kinds = {name: c.kind.name for c in world.words.concepts for name in c.names}
    return kinds.get(head, head)


@pytest.mark.parametrize("split", SPLITS)
def test_a_reader_who_knows_the_world_finds_the_clusters(split: str) -> None:
    world, found = build(0), []
    for words, tags in passages(split):
        names = [referent(words, last, world) for _, last in mentions(tags)]
        found.append(numbered(tags, names))
    assert score(found, split) == TASKS["micro-coref"].ceiling == 1


def numbered(tags: Sequence[int], names: Sequence[Hashable]) -> list[int]:
    """Tags of the mentions of a passage, in clusters of equal names."""
    numbers = {name: n for n, name in enumerate(dict.fromkeys(names))}
    result = [0] * len(tags)
    for (first, last), name in zip(mentions(tags), names, strict=True):
        number = min(numbers[name], NUM_ENTITIES - 1)  # no tags for more
        for place in range(first, last + 1):
            result[place] = MENTION_TAGS.index(f"{'I' if place > first else 'B'}-{number + 1}")
    return result


def links_of(name: Callable[[list[str], int, int], Hashable]) -> tuple[float, float]:
    """MUC and B-cubed on the dev set of clusters of right mentions with equal names."""
    key, response = [], []
    names = ("O", *(f"{p}-{n}" for n in range(1, 20) for p in "BI"))
    for words, tags in passages("validation"):
        same = [name(words, first, last) for first, last in mentions(tags)]
        numbers = {one: n + 1 for n, one in enumerate(dict.fromkeys(same))}
        row = [0] * len(tags)
        for (first, last), one in zip(mentions(tags), same, strict=True):
            for place in range(first, last + 1):
                row[place] = names.index(f"{'I' if place > first else 'B'}-{numbers[one]}")
        key.append(tuple(tags))
        response.append(tuple(row))
    muc, b_cubed = (METRICS[m](key, response, None, names) for m in ("muc", "b_cubed"))
    return muc, b_cubed


def test_equal_words_join_few_mentions() -> None:
    muc, b_cubed = links_of(lambda words, first, last: tuple(words[first : last + 1]))
    assert muc < 0.6 and b_cubed < 0.75


def test_one_entity_and_pronouns_alone_are_wrong() -> None:
    assert links_of(lambda words, first, last: "all")[1] < 0.5
    assert links_of(lambda words, first, last: words[first] in ("she", "he", "it"))[1] < 0.5


@pytest.mark.parametrize("feature", ["position", "word"])
def test_neither_words_nor_positions_solve_the_task(feature: str) -> None:
    """The most frequent tag of a word or position in the train set, O for an unseen one."""

    def key(words: Sequence[str], place: int) -> Hashable:
        return place if feature == "position" else words[place]

    counts: dict[Any, Counter[int]] = defaultdict(Counter)
    for words, tags in passages("train"):
        for place, tag in enumerate(tags):
            counts[key(words, place)][tag] += 1
    found = [
        [
            counts[key(words, p)].most_common(1)[0][0] if key(words, p) in counts else 0
            for p in range(len(words))
        ]
        for words, _ in passages("validation")
    ]
    assert score(found) < 0.3


def documents(split: str) -> list[tuple[list[list[str]], list[list[int]]]]:
    """Words of the sentences, and mentions, of each document."""
    rows = GENERATORS["mention_documents"](split, 0)
    sentences = [[one.split(" ") for one in document] for document in rows["sentences"]]
    return list(zip(sentences, rows["mentions"], strict=True))


@pytest.mark.parametrize("split", SPLITS)
def test_entities_of_the_passages_of_a_document_differ(split: str) -> None:
    for sentences, mentions in documents(split):
        words = [word for sentence in sentences for word in sentence]
        entities = {entity for entity, _, _ in mentions}
        assert list(dict.fromkeys(e for e, _, _ in mentions)) == list(range(len(entities)))
        assert len(entities) == NUM_PASSAGES * NUM_ENTITIES
        half = sum(map(len, sentences[: len(sentences) // 2]))
        assert all((entity < NUM_ENTITIES) == (last < half) for entity, _, last in mentions)
        named = [(tuple(words[first : last + 1]), entity) for entity, first, last in mentions]
        assert len({spelled for spelled, _ in named if spelled[0] not in PRONOUNS}) == len(
            {one for one in named if one[0][0] not in PRONOUNS}
        )


@pytest.mark.parametrize("split", SPLITS)
def test_a_reader_who_knows_the_world_solves_documents(split: str) -> None:
    """A pronoun is of the passage, and names are of one entity of the document."""
    world, gold, found = build(0), [], []
    for sentences, mentions in documents(split):
        words = [word for sentence in sentences for word in sentence]
        half = sum(map(len, sentences[: len(sentences) // 2]))
        numbers: dict[Hashable, int] = {}
        gold.append(tuple(map(tuple, mentions)))
        found.append(
            tuple(
                (
                    numbers.setdefault((referent(words, last, world), last < half), len(numbers)),
                    first,
                    last,
                )
                for _, first, last in mentions
            )
        )
    assert METRICS["coref_f1"](gold, found) == TASKS["micro-coref-documents"].ceiling == 1


def test_equal_words_join_few_mentions_of_documents() -> None:
    task = TASKS["micro-coref-documents"]
    train, dev = load_examples(task, "train"), load_examples(task, task.evaluation[0])
    predict = make("bag_of_words", task, train)
    assert METRICS["coref_f1"](train.labels, predict(train)) < 0.6
    assert METRICS["coref_f1"](dev.labels, predict(dev)) < 0.5


def test_both_splits_have_passages_of_their_own() -> None:
    train, validation = ({tuple(words) for words, _ in passages(split)} for split in SPLITS)
    assert not train & validation


def test_words_are_those_of_the_corpus() -> None:
    corpus = str(list(read_documents(MicroworldCorpus(num_tokens=200_000))))
    words = {word for split in SPLITS for found, _ in passages(split) for word in found}
    assert words - set(".,") <= set(re.findall(r"\w+", corpus))
