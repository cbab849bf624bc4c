"""The tasks: answerable by one who knows the world, and by nobody who counts words."""

import hashlib
import json
import re

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline

from harness import microworld
from harness.microworld.world import build
from harness.tasks.metrics import METRICS
from harness.tasks.micro_glue import MICRO_GLUE_TASKS, MICRO_GLUE_V1
from harness.tasks.task import MicroworldData, Task

TASKS = pytest.mark.parametrize("task", MICRO_GLUE_TASKS.values(), ids=MICRO_GLUE_TASKS)
ORIGINAL = ("acceptability", "sentiment", "paraphrase", "similarity", "entailment", "question")
"""Generators of the six tasks of micro-glue-v1."""
WORLDS = pytest.mark.parametrize("world", [0, 1])


def generator(task: Task) -> str:
    assert isinstance(task.data, MicroworldData)
    return task.data.generator


def texts_and_labels(task: Task, split: str, world: int = 0) -> tuple[list[str], np.ndarray]:
    rows = microworld.examples(generator(task), split, world)
    columns = [rows[field] for field in task.text_fields]
    return [" | ".join(map(str, row)) for row in zip(*columns, strict=True)], np.array(
        rows["label"]
    )


@TASKS
def test_columns_are_those_of_the_task(task: Task) -> None:
    rows = microworld.examples(generator(task), "train")
    assert tuple(rows) == (*task.text_fields, task.label_field)
    assert len(rows["label"]) == task.train_size
    if task.kind == "classification":
        assert set(rows["label"]) == set(range(len(task.labels)))
    else:
        assert 0 <= min(map(float, rows["label"])) < max(map(float, rows["label"])) <= 5


@TASKS
def test_nothing_is_asked_twice(task: Task) -> None:
    train, _ = texts_and_labels(task, "train")
    validation, _ = texts_and_labels(task, "validation")
    assert len({*train, *validation}) == len(train) + len(validation)


@WORLDS
@TASKS
def test_the_dev_set_has_no_open_word_of_the_train_set(task: Task, world: int) -> None:
    train, validation = (
        set(re.findall(r"\w+", " ".join(texts_and_labels(task, split, world)[0])))
        for split in ("train", "validation")
    )
    for words, foreign in ((build(world).validation, train), (build(world).train, validation)):
        nouns = {form for concept in words.concepts for form in concept.names + concept.plurals}
        assert not foreign & nouns
        assert not foreign & {*words.positive, *words.negative, *words.people}
        assert not foreign & {*words.colours, *words.cities}


@TASKS
def test_the_ceiling_is_the_score_of_the_oracle(task: Task) -> None:
    _, labels = texts_and_labels(task, "validation")
    answers = np.array(microworld.oracle(generator(task), "validation"))
    score = METRICS[task.metrics[0]](labels, answers)
    assert score < 1
    assert score == pytest.approx(task.ceiling, abs=0.0005)


@TASKS
def test_chance_is_the_best_constant(task: Task) -> None:
    _, labels = texts_and_labels(task, "validation")
    if task.kind == "classification":
        constant = max(np.mean(labels == label) for label in (0, 1))
        assert constant - 0.5 < 0.03


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
    texts, labels = texts_and_labels(task, "validation", world)
    score = METRICS[task.metrics[0]](labels, model.predict(texts))
    assert score < task.chance + (0.1 if task.chance == 0 else 0.05)


@WORLDS
@TASKS
def test_length_does_not_tell_the_label(task: Task, world: int) -> None:
    texts, labels = texts_and_labels(task, "validation", world)
    lengths = np.array([len(text.split()) for text in texts], dtype=float)
    if lengths.std() > 0:
        assert abs(np.corrcoef(lengths, labels)[0, 1]) < 0.1


@TASKS
def test_position_does_not_tell_the_label(task: Task) -> None:
    _, labels = texts_and_labels(task, "validation")
    assert abs(np.corrcoef(np.arange(len(labels)), labels)[0, 1]) < 0.1


def test_the_version_names_these_examples() -> None:
    """A change of the examples needs a new VERSION, then a new digest here."""
    made = {
        f"{name}/{split}": microworld.examples(name, split)
        for name in ORIGINAL
        for split in ("train", "validation")
    }
    assert microworld.VERSION == "1"
    assert hashlib.sha256(json.dumps(made).encode()).hexdigest()[:16] == "ef637813fac24af2"


def test_worlds_ask_different_questions() -> None:
    one, other = (microworld.examples("question", "train", world) for world in (0, 1))
    assert one != other


def test_unknown_names_are_refused() -> None:
    with pytest.raises(ValueError, match=r"generator must be one of acceptability, .*'colour'"):
        microworld.examples("colour", "train")
    with pytest.raises(ValueError, match="split must be one of train, validation, but is 'test'"):
        microworld.examples("question", "test")


def test_the_suite_shows_every_task() -> None:
    assert MICRO_GLUE_V1.tasks == tuple(MICRO_GLUE_TASKS)
    assert tuple(column.task for column in MICRO_GLUE_V1.columns) == MICRO_GLUE_V1.tasks
    for column in MICRO_GLUE_V1.columns:
        assert column.metrics == MICRO_GLUE_TASKS[column.task].metrics[:1]
