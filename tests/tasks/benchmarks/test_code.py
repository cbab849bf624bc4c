"""Tasks on the functions of the standard library."""

from typing import Any

import pytest

from harness.data import python_stdlib
from harness.tasks.benchmarks.code import PYTHON_CODE_V1, PYTHON_TASKS
from harness.tasks.evaluation_texts import evaluation_texts
from harness.tasks.file_checks import check_files
from harness.tasks.load_examples import fingerprint, load_examples
from harness.tasks.preprocessing import PREPROCESSORS
from harness.tasks.task import Split, StdlibData, Task
from harness.tasks.text_sample import sample_texts

COLUMNS = {
    "train": [(f"m{n % 3}", f"docstring {n}", f"docstring {n}", f"code {n}") for n in range(10)],
    "validation": [("v", "one two three", "one two", f"code {n}") for n in range(10, 15)],
}
TASKS = {task.name: task for task in PYTHON_TASKS}


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few functions in the place of the standard library's."""

    def rows(part: str) -> list[python_stdlib.Function]:
        return [python_stdlib.Function(*row) for row in COLUMNS[part]]

    monkeypatch.setattr(python_stdlib, "functions", rows)
    monkeypatch.setattr(python_stdlib, "columns", lambda part: python_stdlib.as_columns(rows(part)))


def test_a_search_is_by_the_text_of_a_docstring(library: None) -> None:
    task = TASKS["python-search"]
    examples = load_examples(task, task.evaluation[0])
    assert examples.texts[1] == ("one two three", "code 11")
    assert examples.labels.tolist() == [1.0] * 5
    assert examples.groups is not None and set(examples.groups) == {"one two three"}


def test_a_summary_is_a_sentence_and_groups_are_modules(library: None) -> None:
    task = TASKS["python-summaries"]
    examples = load_examples(task, task.evaluation[0])
    assert examples.texts[0] == ("code 10",) and examples.labels[0] == ("one two",)
    train = load_examples(task, "train")
    assert train.groups is not None and train.groups.tolist()[:4] == ["m0", "m1", "m2", "m0"]
    assert sample_texts(task, 3) == [("code 0",), ("code 1",), ("code 2",)]


def test_choices_are_four_functions_with_the_own_one_in_each_place() -> None:
    columns = python_stdlib.as_columns(python_stdlib.Function(*row) for row in COLUMNS["train"])
    found = PREPROCESSORS["function_choices"](columns)
    assert found["label"] == [0, 1, 2, 3, 0, 1, 2, 3, 0, 1]
    assert found["choices"][0] == ["code 0", "code 2", "code 5", "code 7"]
    assert found["choices"][9] == ["code 6", "code 9", "code 1", "code 4"]
    for row, (choices, label) in enumerate(zip(found["choices"], found["label"], strict=True)):
        assert choices[label] == f"code {row}" and len(set(choices)) == 4


def test_data_are_identified_by_the_version_of_python() -> None:
    found = {fingerprint(task) for task in PYTHON_TASKS}
    assert found == {python_stdlib.fingerprint()}
    assert python_stdlib.NAME in PYTHON_CODE_V1.citation


def test_evaluation_texts_are_those_of_the_validation_split(library: None) -> None:
    found = set(evaluation_texts("python-code-v1"))
    assert found == {"one two three", *(f"code {n}" for n in range(10, 15))}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"train": "test"}, "must be train or validation, but is 'test'"),
        ({"evaluation": (Split(name="dev"),)}, "must be train or validation, but is 'dev'"),
        ({"text_fields": ("body",)}, "the column 'body', but .* have module, docstring, summary"),
    ],
)
def test_other_splits_and_columns_are_refused_while_planning(
    change: dict[str, Any], message: str
) -> None:
    fields = {"text_fields": ("code",), "label_field": "summary", "metrics": ("rougeL",)}
    task = Task(name="own", kind="generation", data=StdlibData(), **(fields | change))
    with pytest.raises(ValueError, match=message):
        check_files(task)


@pytest.mark.parametrize("name", TASKS)
def test_real_functions_make_examples(name: str) -> None:
    task = TASKS[name]
    examples = load_examples(task, task.evaluation[0])
    assert len(examples) > 300 and examples.groups is not None
    assert not examples.hidden
