"""Stage keys, compared with hashes of the parts that must enter them."""

import hashlib
import json
from typing import Any

import pytest

from harness.plan.keys import KeyTexts, run_content, stage_key
from harness.plan.stage_kinds import STAGE_KINDS
from harness.pretraining.recipes import RECIPES

FILES = {"files": {"train": "a/train.csv", "dev": "a/dev.csv"}, "text": "title"}
NAMES = {"files": ["dev", "train"], "text": "title"}

Case = tuple[str, dict[str, Any], dict[str, Any]]
CASES: dict[str, Case] = {
    "path of a text corpus": (
        "tokenize",
        {"corpus": {"source": "text", "path": "a.txt", "seed": 1}, "fingerprint": "f"},
        {"corpus": {"source": "text", "seed": 1}, "fingerprint": "f"},
    ),
    "path of a JSON Lines corpus": (
        "tokenize",
        {"corpus": {"source": "jsonl", "path": "a.jsonl", "field": "text"}},
        {"corpus": {"source": "jsonl", "field": "text"}},
    ),
    "path of a parquet corpus": (
        "tokenize",
        {"corpus": {"source": "parquet", "path": "a.parquet", "text_field": "text"}},
        {"corpus": {"source": "parquet", "text_field": "text"}},
    ),
    "name of an imported checkpoint": (
        "pretrain",
        {"checkpoint": {"name": "a/b"}, "fingerprint": "f"},
        {"fingerprint": "f"},
    ),
    "name of the checkpoint of a tokenizer": (
        "tokenizer",
        {"checkpoint": {"name": "a/b"}, "fingerprint": "f"},
        {"fingerprint": "f"},
    ),
    "path of word vectors": (
        "pretrain",
        {
            "vectors": "digest",
            "pretrain": {"batch_size": 8, "model": {"family": "static", "vectors": "glove.txt"}},
        },
        {"vectors": "digest", "pretrain": {"batch_size": 8, "model": {"family": "static"}}},
    ),
    "paths of a task's files": (
        "finetune",
        {"content": {"kind": "classification", "data": FILES}, "seed": 0},
        {"content": {"kind": "classification", "data": NAMES}, "seed": 0},
    ),
    "paths of several tasks' files": (
        "train_tasks",
        {"tasks": [{"task": "mine", "content": {"data": FILES}}, {"task": "b", "content": {}}]},
        {"tasks": [{"task": "mine", "content": {"data": NAMES}}, {"task": "b", "content": {}}]},
    ),
    "nulls": (
        "tune",
        {"a": None, "b": {"c": None, "d": 0}, "e": [{"f": None, "g": False}], "h": ({"i": None},)},
        {"b": {"d": 0}, "e": [{"g": False}], "h": [{}]},
    ),
}
"""What does not enter a key, to (kind of stage, spec, the part of it that enters)."""

ALL_ENTERS: list[tuple[str, dict[str, Any]]] = [
    ("tokenize", {"corpus": {"source": "hub", "path": "a/b"}}),
    ("finetune", {"checkpoint": {"name": "a/b"}}),
    ("pretrain", {"pretrain": {"model": {"family": "bert"}}, "seed": 1}),
    ("finetune", {"content": {"data": {"path": "a/b"}}}),
    ("finetune", {"content": {"kind": "classification"}}),
    ("trial", {"values": [0, "", False, [1, 2]]}),
]


def hashed(kind: str, spec: dict[str, Any], parents: dict[str, str]) -> str:
    content = [kind, STAGE_KINDS[kind].version, spec, parents]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]


@pytest.mark.parametrize("name", CASES)
def test_left_out(name: str) -> None:
    kind, spec, entering = CASES[name]
    assert stage_key(kind, spec, {"tokens": "k"}) == hashed(kind, entering, {"tokens": "k"})


@pytest.mark.parametrize(("kind", "spec"), ALL_ENTERS)
def test_everything_else_enters(kind: str, spec: dict[str, Any]) -> None:
    assert stage_key(kind, spec, {}) == hashed(kind, spec, {})


def test_kinds_parents_and_their_roles_enter() -> None:
    keys = [
        stage_key(kind, {"a": 1}, parents)
        for kind in ("trial", "probe")
        for parents in ({}, {"body": "k"}, {"head": "k"}, {"body": "l"})
    ]
    assert len(set(keys)) == len(keys)


def test_a_spec_is_not_changed() -> None:
    for kind, spec, _ in CASES.values():
        before = repr(spec)
        stage_key(kind, spec, {})
        assert repr(spec) == before


def test_the_content_of_a_run_has_no_names_and_no_text() -> None:
    bert = RECIPES["bert"]
    teacher = bert.model_copy(update={"recipe": "roberta", "batch_size": 3})
    content = run_content(bert.model_copy(update={"teacher": teacher}))
    whole = bert.model_dump()
    assert whole["optimizer"].pop("kind") == "adamw"  # not part of keys, which are older
    assert whole["tokenizer"].pop("corpus") is None
    names = ("recipe", "corpus", "held_out")
    entering = {name: whole[name] for name in whole if name not in names}
    teacher_content = {**entering, "batch_size": 3}
    assert content == {**entering, "teacher": teacher_content}
    assert entering["init_from"] is None
    assert run_content(RECIPES["albert"])["optimizer"]["kind"] == "lamb"


def test_fields_that_stages_share_give_the_same_keys() -> None:
    texts = KeyTexts()
    specs = [(kind, spec) for kind, spec, _ in CASES.values()] + ALL_ENTERS
    for kind, spec in [*specs, *specs]:
        for seed in (0, 1):
            seeded = {**spec, "seed": seed}
            assert stage_key(kind, seeded, {}, texts) == stage_key(kind, seeded, {})


def test_a_value_that_two_fields_share_is_read_as_each_of_them() -> None:
    data = {"data": FILES}
    spec = {"content": data, "other": data}
    entering = {"content": {"data": NAMES}, "other": data}
    assert stage_key("finetune", spec, {}) == hashed("finetune", entering, {})
