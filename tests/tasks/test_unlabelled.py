"""Texts that are in no data set, and predictions by name."""

from collections.abc import Sequence
from typing import Any, get_args

import numpy as np
import pytest

from harness.tasks.examples import Mention, column
from harness.tasks.task import Kind, Task
from harness.tasks.unlabelled import Text, in_words, unlabelled

PAIR = ("Who?", "Ann sings.")
CHOICES = [("sings", "swims")]
CASES: dict[str, tuple[Text, Any, Any]] = {
    "classification": (PAIR, 1.0, "yes"),
    "regression": (PAIR, 2.5, 2.5),
    "multiple_choice": (PAIR, 1.0, "swims"),
    "extraction": (PAIR, "Ann", "Ann"),
    "tagging": (["Ann", "sings"], (1, 0), ["yes", "no"]),
    "coreference": (
        ["Ann sings .", "She does ."],
        (Mention(0, 0, 0), Mention(0, 3, 3)),
        [[(0, 0), (3, 3)]],
    ),
    "similarity": (PAIR, 0.5, 0.5),
    "generation": (PAIR, "a text", "a text"),
}
"""Kind of task to the texts of an example, a prediction, and the prediction by name."""


def make_task(kind: str, text_fields: Sequence[str] = ("question", "text")) -> Task:
    fields: dict[str, Any] = {
        "name": "own",
        "kind": kind,
        "data": {"source": "csv", "files": {"train": "a.csv"}},
        "text_fields": text_fields,
        "labels": ("no", "yes"),
        "metrics": ("accuracy",),
    }
    return Task.model_validate(fields)


def test_every_kind_is_covered() -> None:
    assert CASES.keys() | {"retrieval"} == set(get_args(Kind))


@pytest.mark.parametrize("kind", CASES)
def test_predictions_have_names(kind: str) -> None:
    texts, predicted, named = CASES[kind]
    task, choices = make_task(kind), CHOICES if kind == "multiple_choice" else None
    examples = unlabelled(task, [texts], choices)
    assert examples.texts == [tuple(texts)] and examples.hidden == (kind not in _OF_TEXTS)
    is_number = isinstance(predicted, float)
    predictions = np.array([predicted]) if is_number else column([predicted])
    assert in_words(task, predictions, examples) == [named]


_OF_TEXTS = ("tagging", "coreference", "generation")
"""Kinds whose labels are never hidden."""


def test_a_text_alone_is_an_example_of_one_text() -> None:
    examples = unlabelled(make_task("classification", ["text"]), ["Ann sings.", ("She does.",)])
    assert examples.texts == [("Ann sings.",), ("She does.",)]


def test_arrays_are_lists() -> None:
    words = np.array(["Ann", "sings"])
    assert unlabelled(make_task("tagging"), [words]).texts == [("Ann", "sings")]
    texts = np.array(["Ann sings.", "She does."])
    assert unlabelled(make_task("classification", ["text"]), texts).texts == [(t,) for t in texts]


def test_a_generated_class_that_is_none_has_no_name() -> None:
    task = make_task("classification")
    assert in_words(task, np.array([-1.0, 0.0]), unlabelled(task, [PAIR, PAIR])) == [None, "no"]


@pytest.mark.parametrize(
    ("kind", "texts", "choices", "message"),
    [
        (
            "classification",
            "Ann sings.",
            None,
            "needs a list of examples, but is given 'Ann",
        ),
        ("classification", ["Ann"], None, r"needs \(question, text\) .* example 0 is 'Ann'"),
        ("classification", None, None, "needs a list of examples, but is given None"),
        ("classification", [{"question": "a", "text": "b"}], None, "example 0 is {'question'"),
        ("classification", [{"a", "b"}], None, "needs .* for each example, but example 0 is {"),
        ("classification", [3], None, "needs .* for each example, but example 0 is 3"),
        ("classification", [PAIR, (1, 2)], None, r"but example 1 is \(1, 2\)"),
        ("classification", [PAIR], CHOICES, "is not multiple choice, so it takes no choices"),
        ("tagging", ["Ann sings"], None, "needs a list of words .* example 0 is 'Ann sings'"),
        ("coreference", [[]], None, "needs a list of sentences"),
        ("multiple_choice", [PAIR], None, "needs choices, .* but has none"),
        ("multiple_choice", [PAIR, PAIR], CHOICES, "but has 1 for 2 examples"),
        ("multiple_choice", [PAIR], ["sings"], "a list of texts for each example"),
        ("retrieval", [PAIR], None, "ranks all texts of a split"),
    ],
)
def test_other_examples_are_refused(kind: str, texts: Any, choices: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        unlabelled(make_task(kind), texts, choices)
