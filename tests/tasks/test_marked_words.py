"""Places of marked words in the texts of tasks, and declarations that name none."""

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from harness.tasks.custom import CustomSuite
from harness.tasks.load_examples import load_examples
from harness.tasks.task import Task

ROWS = [
    {"word": "run", "one": "Run away.", "two": "She ran 10 miles.", "s1": 0, "e1": 3}
    | {"s2": 4, "e2": 7, "label": "no"},
    {"word": "art", "one": "A part of art.", "two": "art", "s1": 10, "e1": 13, "s2": 0, "e2": 3}
    | {"label": "yes"},
]
PLACES = {"one": ["s1", "e1"], "two": ["s2", "e2"]}


def task(folder: Path, rows: list[dict[str, Any]] = ROWS, **fields: Any) -> Task:
    file = folder / "train.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    made = {
        "name": "words",
        "kind": "classification",
        "data": {"source": "jsonl", "files": {"train": str(file), "validation": str(file)}},
        "text_fields": ["one", "two"],
        "labels": ["no", "yes"],
        "metrics": ["accuracy"],
        "marked_words": PLACES,
        **fields,
    }
    (found,) = CustomSuite.model_validate({"name": "own-v1", "tasks": [made]}).tasks
    assert isinstance(found, Task)
    return found


def marked(found: Task) -> list[list[str]]:
    examples = load_examples(found, "train")
    assert examples.spans
    return [
        [text[first:last] for text, (first, last) in zip(texts, spans, strict=True)]
        for texts, spans in zip(examples.texts, examples.spans, strict=True)
    ]


def test_places_by_characters(tmp_path: Path) -> None:
    assert marked(task(tmp_path)) == [["Run", "ran"], ["art", "art"]]


@pytest.mark.parametrize(
    "pattern", ["{word}: {one}", "{word} {{in}} {one}", "({one})", "{{1}} {one}"]
)
def test_places_within_a_pattern(tmp_path: Path, pattern: str) -> None:
    found = task(tmp_path, text_fields=[pattern, "two"])
    assert marked(found) == [["Run", "ran"], ["art", "art"]]


@pytest.mark.parametrize("pattern", ["{word}: {one:.40}", "{one!s}"])
def test_a_format_of_the_marked_text_is_refused(tmp_path: Path, pattern: str) -> None:
    with pytest.raises(ValidationError, match="must mark a word of a field that its text has"):
        task(tmp_path, text_fields=[pattern, "two"])


def test_the_first_whole_occurrence_of_a_word(tmp_path: Path) -> None:
    """Not the one in `part`, and in letters of any case."""
    found = task(tmp_path, text_fields=["one"], marked_words={"one": "word"})
    assert marked(found) == [["Run"], ["art"]]
    examples = load_examples(found, "train")
    assert examples.spans == [((0, 3),), ((10, 13),)]


@pytest.mark.parametrize(
    ("marks", "message"),
    [
        ({"one": ["s1", "e1"], "two": "word"}, "a word of 'two' by word, but row 1 has none there"),
        ({"one": ["e1", "s1"], "two": ["s2", "e2"]}, "of 'one' by e1 and s1, but row 1 has none"),
        ({"one": ["s1", "e1"], "two": ["s1", "s3"]}, "has no s3"),
    ],
)
def test_a_word_that_is_not_there_is_named(
    tmp_path: Path, marks: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        load_examples(task(tmp_path, marked_words=marks), "train")


@pytest.mark.parametrize("cell", [{"s2": None}, {"e2": None}, {"word": None}, {"word": ""}])
def test_a_row_without_a_place_is_named(tmp_path: Path, cell: dict[str, Any]) -> None:
    marks = {"one": "word", "two": ["s2", "e2"]}
    with pytest.raises(ValueError, match="but row 2 has none there"):
        load_examples(task(tmp_path, [ROWS[0], ROWS[1] | cell], marked_words=marks), "train")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"marked_words": {"one": "word"}}, "must mark a word in each of its texts, one alone"),
        ({"marked_words": {**PLACES, "three": "word"}}, "must name fields of its texts, one and"),
        (
            {"kind": "generation", "labels": [], "metrics": ["rouge1"], "text_fields": ["one"]},
            "marked_words is for classification and regression, but 'words' is generation",
        ),
    ],
)
def test_declarations_without_a_word_are_refused(
    tmp_path: Path, fields: dict[str, Any], message: str
) -> None:
    with pytest.raises((ValueError, ValidationError), match=message):
        task(tmp_path, **fields)
