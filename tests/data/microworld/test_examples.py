"""The tasks: solvable with knowledge of the world, but not from word counts."""

import hashlib
import json
import re

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline

from harness.data import microworld
from harness.data.microworld.examples import (
    GENERATORS,
    GLUE,
    OTHERS,
    SUPERGLUE,
    examples,
    oracle,
    sample,
)
from harness.data.microworld.world import build
from harness.tasks.metrics import METRICS
from harness.tasks.micro.glue import MICRO_GLUE_TASKS, MICRO_GLUE_V1, MICRO_GLUE_V2
from harness.tasks.task import MicroworldData, Suite, Task

BY_NAME = {task.name: task for task in MICRO_GLUE_TASKS}
TASKS = pytest.mark.parametrize("task", MICRO_GLUE_TASKS, ids=BY_NAME)
ORIGINAL = ("acceptability", "sentiment", "paraphrase", "similarity", "entailment", "question")
"""Generators of the six tasks of micro-glue-v1."""
WORLDS = pytest.mark.parametrize("world", [0, 1])


def generator(task: Task) -> str:
    assert isinstance(task.data, MicroworldData)
    return task.data.generator


def texts_and_labels(task: Task, split: str, world: int = 0) -> tuple[list[str], np.ndarray]:
    rows = examples(generator(task), split, world)
    columns = [rows[field] for field in task.text_fields]
    return [" | ".join(map(str, row)) for row in zip(*columns, strict=True)], np.array(
        rows["label"]
    )


def dev(task: Task) -> str:
    """The first split that is reported."""
    return task.evaluation[0].name


@TASKS
def test_columns_are_those_of_the_task(task: Task) -> None:
    rows = examples(generator(task), "train")
    assert tuple(rows) == (*task.text_fields, task.label_field)
    assert len(rows["label"]) == task.train_size
    if task.kind == "classification":
        assert set(rows["label"]) == set(range(len(task.labels)))
    else:
        assert 0 <= min(map(float, rows["label"])) < max(map(float, rows["label"])) <= 5


@TASKS
def test_examples_are_distinct(task: Task) -> None:
    train, _ = texts_and_labels(task, "train")
    validation, _ = texts_and_labels(task, dev(task))
    assert len({*train, *validation}) == len(train) + len(validation)


@WORLDS
@TASKS
def test_the_dev_set_has_no_open_word_of_the_train_set(task: Task, world: int) -> None:
    train, validation = (
        set(re.findall(r"\w+", " ".join(texts_and_labels(task, split, world)[0])))
        for split in ("train", dev(task))
    )
    for words, foreign in ((build(world).validation, train), (build(world).train, validation)):
        nouns = {form for concept in words.concepts for form in concept.names + concept.plurals}
        assert not foreign & nouns
        assert not foreign & {*words.positive, *words.negative, *words.people}
        assert not foreign & {*words.colours, *words.cities}


@TASKS
def test_the_ceiling_is_the_score_of_the_oracle(task: Task) -> None:
    _, labels = texts_and_labels(task, dev(task))
    answers = np.array(oracle(generator(task), dev(task)))
    score = METRICS[task.metrics[0]](labels, answers)
    assert score < 1
    assert score == pytest.approx(task.ceiling, abs=0.0005)


@TASKS
def test_chance_is_the_best_constant(task: Task) -> None:
    _, labels = texts_and_labels(task, dev(task))
    if task.kind == "classification":
        classes = range(len(task.labels))
        constants = [METRICS[task.metrics[0]](labels, np.full_like(labels, i)) for i in classes]
        assert max(constants) == pytest.approx(task.chance, abs=0.03)


@WORLDS
@TASKS
def test_counting_words_stays_near_chance(task: Task, world: int) -> None:
    """Words and word pairs of the train set, within three standard errors of chance."""
    regression = task.kind == "regression"
    model = make_pipeline(
        CountVectorizer(ngram_range=(1, 2), token_pattern=r"[\w|]+"),
        Ridge() if regression else LogisticRegression(max_iter=1000),
    )
    model.fit(*texts_and_labels(task, "train", world))
    texts, labels = texts_and_labels(task, dev(task), world)
    score = METRICS[task.metrics[0]](labels, model.predict(texts))
    assert task.chance is not None
    assert score < task.chance + (0.1 if task.chance == 0 else 0.05)


@WORLDS
@TASKS
def test_length_does_not_reveal_the_label(task: Task, world: int) -> None:
    texts, labels = texts_and_labels(task, dev(task), world)
    lengths = np.array([len(text.split()) for text in texts], dtype=float)
    if lengths.std() > 0:
        assert abs(np.corrcoef(lengths, labels)[0, 1]) < 0.1


@TASKS
def test_position_does_not_reveal_the_label(task: Task) -> None:
    _, labels = texts_and_labels(task, dev(task))
    assert abs(np.corrcoef(np.arange(len(labels)), labels)[0, 1]) < 0.1


def test_the_version_names_these_examples() -> None:
    """A change of the examples needs a new VERSION, then a new digest here."""
    made = {
        f"{name}/{split}": examples(name, split)
        for name in ORIGINAL
        for split in ("train", "validation")
    }
    assert microworld.VERSION == "1"
    assert hashlib.sha256(json.dumps(made).encode()).hexdigest()[:16] == "ef637813fac24af2"


def test_worlds_have_different_questions() -> None:
    one, other = (examples("question", "train", world) for world in (0, 1))
    assert one != other


@pytest.mark.parametrize("name", GENERATORS)
def test_a_sample_may_be_one_example(name: str) -> None:
    for split in GENERATORS[name].sizes:
        one, two = (sample(name, split, number) for number in (1, 2))
        assert {len(column) for column in one.values()} == {1}
        assert {len(column) for column in two.values()} == {2}
        assert list(one) == list(examples(name, split))


def test_every_generator_has_a_name_of_its_own() -> None:
    assert len(GENERATORS) == len((*GLUE, *SUPERGLUE, *OTHERS))


def test_unknown_names_are_refused() -> None:
    with pytest.raises(ValueError, match=r"generator must be one of acceptability, .*'colour'"):
        examples("colour", "train")
    with pytest.raises(ValueError, match="split must be one of train, validation, but is 'test'"):
        examples("question", "test")


def test_the_first_suite_stays_as_it_was() -> None:
    assert MICRO_GLUE_V1.tasks == tuple(BY_NAME)[:6]
    assert tuple(column.task for column in MICRO_GLUE_V1.columns) == MICRO_GLUE_V1.tasks


@pytest.mark.parametrize("suite", [MICRO_GLUE_V1, MICRO_GLUE_V2], ids=lambda suite: suite.name)
def test_the_suite_shows_every_task_by_its_main_score(suite: Suite) -> None:
    assert {column.task for column in suite.columns} == set(suite.tasks)
    for column in suite.columns:
        task = BY_NAME[column.task]
        assert column.metrics == task.metrics[:1]
        assert column.split in {split.name for split in task.evaluation}


def test_the_second_suite_has_all_nine() -> None:
    assert set(MICRO_GLUE_V2.tasks) == set(BY_NAME)
    assert len(MICRO_GLUE_V2.columns) == 10


def test_the_mismatched_set_is_written_in_another_style() -> None:
    matched, mismatched = (
        examples("inference", f"validation_{style}")["sentence1"]
        for style in ("matched", "mismatched")
    )
    assert not any(re.match("what was|as for", text) for text in matched)
    assert all(re.match("what was|as for", text) for text in mismatched)


def test_premises_affirm_one_thing_and_deny_another() -> None:
    """A reader who knows the names of every thing answers as the oracle does."""
    concepts = build(0).validation.concepts
    known = {name: concept for concept in concepts for name in concept.names}
    rows = examples("inference", "validation_matched")
    for one, two, answer in zip(
        rows["sentence1"],
        rows["sentence2"],
        oracle("inference", "validation_matched"),
        strict=True,
    ):
        things = [known[word] for word in re.findall(r"\w+", one) if word in known]
        denied = "not the" in one.split(",")[0] or "was not" in one.split(",")[0]
        affirmed, other = things[::-1] if denied else things
        hypothesis = set(re.findall(r"\w+", two))
        about = [bool(hypothesis & {*c.names, c.kind.name}) for c in (affirmed, other)]
        assert answer == (0 if about[0] else 2 if about[1] else 1)
