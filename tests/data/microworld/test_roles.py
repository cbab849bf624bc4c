"""Semantic roles of the micro-world: tags that follow from the sentence, and not from positions."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from harness.data.corpora.load_corpus import read_documents
from harness.data.corpora.sources import MicroworldCorpus
from harness.data.microworld.examples import GENERATORS
from harness.data.microworld.roles import ACTING, ROLE_PATTERNS, ROLE_TAGS
from harness.data.microworld.world import build
from harness.tasks import TASKS
from harness.tasks.load_examples import load_examples
from harness.tasks.metrics import METRICS

Rows = dict[str, list[Any]]
SPLITS = ("train", "validation")


def rows(split: str) -> Rows:
    return GENERATORS["semantic_roles"](split, 0)


def sentences(split: str) -> list[tuple[list[str], int, list[str]]]:
    made = rows(split)
    return list(zip(made["words"], made["predicate"], made["roles"], strict=True))


def of(words: Sequence[str], roles: Sequence[str], role: str) -> str:
    """The words of an argument."""
    return " ".join(w for w, tag in zip(words, roles, strict=True) if tag[2:] == role)


@pytest.mark.parametrize("split", SPLITS)
def test_tags_are_valid_and_the_predicate_is_one_verb(split: str) -> None:
    for words, place, roles in sentences(split):
        assert len(words) == len(roles) and roles[place] == "B-V" and roles.count("B-V") == 1
        for before, tag in pairwise(["O", *roles]):
            assert not tag.startswith("I-") or before[1:] == tag[1:]
    assert {tag for _, _, roles in sentences(split) for tag in roles} == set(ROLE_TAGS)


@pytest.mark.parametrize("split", SPLITS)
def test_roles_follow_from_the_sentence(split: str) -> None:
    """By rules other than the patterns: voice, prepositions, relative pronouns, kinds."""
    world = build(0)
    acting = {v.past for kind in world.kinds if kind.name in ACTING for v in kind.subject_verbs}
    undergoing = {v.past for kind in world.kinds for v in kind.subject_verbs} - acting
    for words, place, roles in sentences(split):
        verb, agent, other = words[place], of(words, roles, "A0"), of(words, roles, "A1")
        if verb in acting | undergoing:
            assert bool(agent) is (verb in acting) and bool(other) is (verb in undergoing)
        elif words[place - 1] == "was":
            assert other and agent.startswith("by ") is bool(agent)
        else:
            assert agent and other and not agent.startswith("by ")
        assert of(words, roles, "AM-LOC").partition(" ")[0] in ("in", "")
        assert {of(words, roles, role) for role in ("R-A0", "R-A1")} <= {"that", ""}
        assert of(words, roles, "AM-TMP") in ("then", "") and of(words, roles, "AM-DIS") in (
            "so",
            "",
        )


def test_every_pattern_occurs() -> None:
    skeletons = Counter(
        tuple(tag for tag in roles if tag[0] == "B") for _, _, roles in sentences("train")
    )
    assert len(skeletons) >= 12 and len(ROLE_PATTERNS) == 23


def test_both_splits_have_sentences_of_their_own() -> None:
    train, validation = ({tuple(words) for words, _, _ in sentences(split)} for split in SPLITS)
    assert not train & validation


def test_words_are_those_of_the_corpus() -> None:
    corpus = str(list(read_documents(MicroworldCorpus(num_tokens=200_000))))
    words = {word for split in SPLITS for found, _, _ in sentences(split) for word in found}
    assert words - set(".,") <= set(re.findall(r"\w+", corpus))


Features = Callable[[Sequence[str], int, int], Any]
BASELINES: dict[str, Features] = {
    "position": lambda words, predicate, place: place,
    "distance": lambda words, predicate, place: place - predicate,
    "word": lambda words, predicate, place: words[place],
    "word and side": lambda words, predicate, place: (words[place], place < predicate),
}


@pytest.mark.parametrize("name", BASELINES)
def test_neither_words_nor_positions_solve_the_task(name: str) -> None:
    """The most frequent tag of a feature in the train set, O for an unseen one."""
    counts: dict[Any, Counter[str]] = defaultdict(Counter)
    for words, predicate, roles in sentences("train"):
        for place, tag in enumerate(roles):
            counts[BASELINES[name](words, predicate, place)][tag] += 1
    task = TASKS["micro-srl"]
    found, gold = [], []
    for words, predicate, roles in sentences("validation"):
        keys = [BASELINES[name](words, predicate, place) for place in range(len(words))]
        tags = [counts[key].most_common(1)[0][0] if key in counts else "O" for key in keys]
        found.append(tuple(map(ROLE_TAGS.index, tags)))
        gold.append(tuple(map(ROLE_TAGS.index, roles)))
    score = METRICS["argument_f1"](gold, found, None, task.labels)
    assert score < 0.4
    assert METRICS["argument_f1"](gold, gold, None, task.labels) == task.ceiling


def test_the_predicate_is_marked_in_what_models_read() -> None:
    task = TASKS["micro-srl"]
    examples = load_examples(task, "train")
    for texts, labels in zip(examples.texts, examples.labels, strict=True):
        marks = np.flatnonzero(np.array(texts) == "*")
        assert marks[1] - marks[0] == 2 and len(marks) == 2
        assert [task.labels[labels[place]] for place in range(marks[0], marks[1] + 1)] == [
            *("O", "B-V", "O")
        ]
