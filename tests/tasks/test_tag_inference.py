"""Tagging tasks that are declared by their files alone."""

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from harness.tasks.inference import inferred
from harness.tasks.load_examples import load_examples
from harness.tasks.task import Split, Task

SPANS = [(["Ada", "Lovelace", "slept"], ["B-PER", "I-PER", "O"]), (["Oslo"], ["B-LOC"])]


def written(
    file: Path, rows: list[tuple[Any, Any]], names: tuple[str, str] = ("words", "tags")
) -> str:
    text = "".join(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in rows)
    file.write_text(text)
    return str(file)


def task(data: str, **fields: Any) -> Task:
    given = {"name": "mine", "kind": "tagging", "data": data, **fields}
    return Task.model_validate(inferred(given))


def test_a_file_is_enough(tmp_path: Path) -> None:
    data = written(tmp_path / "train.jsonl", SPANS * 5)
    written(tmp_path / "dev.jsonl", [(["Bo"], ["B-MISC"])])
    found = task(data)
    assert (found.text_fields, found.label_field) == (("words",), "tags")
    assert (found.metrics, found.train_size) == (("entity_f1",), 10)
    assert found.labels == ("O", "B-LOC", "B-MISC", "B-PER", "I-PER")
    train = load_examples(found, "train")
    assert train.texts[0] == ("Ada", "Lovelace", "slept") and train.labels[0] == (3, 4, 0)
    assert load_examples(found, Split(name="validation")).labels.tolist() == [(2,)]
    whole = found.model_dump(mode="json")
    assert inferred(whole) == whole


def test_tags_of_words_are_scored_by_accuracy_on_a_hold_out(tmp_path: Path) -> None:
    rows = [([f"w{number}", "sleeps"], ["NOUN", "VERB"]) for number in range(60)]
    found = task(written(tmp_path / "train.jsonl", rows, ("tokens", "POS_tags")))
    assert (found.text_fields, found.label_field) == (("tokens",), "POS_tags")
    assert (found.labels, found.metrics) == (("NOUN", "VERB"), ("accuracy_tags",))
    assert (len(load_examples(found, "train")), found.train_size) == (48, 48)


def test_ends_and_single_words_are_spans(tmp_path: Path) -> None:
    rows = [(["Ada", "Lovelace", "in", "Oslo"], ["B-PER", "E-PER", "O", "S-LOC"])]
    assert task(written(tmp_path / "train.jsonl", rows * 60)).metrics == ("entity_f1",)


def test_given_fields_are_kept(tmp_path: Path) -> None:
    data = written(tmp_path / "train.jsonl", [(["a", "b"], [0, 1])] * 60, ("words", "ner_tags"))
    found = task(data, labels=["O", "B-PER"], metrics=["entity_f1_strict"])
    assert (found.labels, found.metrics) == (("O", "B-PER"), ("entity_f1_strict",))
    written(tmp_path / "train.jsonl", SPANS * 30, ("first", "second"))
    assert task(data, text_fields=["first"], label_field="second").labels[0] == "O"


@pytest.mark.parametrize("labels", [[0, 1], 5, "O", {"O": 0}])
def test_labels_that_are_no_names_are_refused_with_the_task(tmp_path: Path, labels: Any) -> None:
    data = written(tmp_path / "train.jsonl", [(["a", "b"], [0, 1])] * 60)
    with pytest.raises(ValidationError, match=r"labels"):
        task(data, labels=labels)


@pytest.mark.parametrize(
    ("rows", "names", "message"),
    [
        (SPANS * 30, ("text", "tags"), "one column of words, named words or tokens, but .* text"),
        (
            SPANS * 30,
            ("words", "kinds"),
            "column of tags, .* has words, kinds; set label_field",
        ),
        ([("a b", "O O")] * 60, ("words", "tags"), "a list of tags in 'tags', but row 1 of train"),
        ([(["a"], [3])] * 60, ("words", "tags"), "'tags' has 3 in row 1 of train; set labels"),
        (SPANS * 2, ("words", "tags"), "needs at least 50 examples to hold out 20%"),
    ],
)
def test_what_cannot_be_inferred_is_one_line(
    tmp_path: Path, rows: list[tuple[Any, Any]], names: tuple[str, str], message: str
) -> None:
    data = written(tmp_path / "train.jsonl", rows, names)
    with pytest.raises(ValueError, match=message) as caught:
        inferred({"name": "mine", "kind": "tagging", "data": data})
    assert "\n" not in str(caught.value)
