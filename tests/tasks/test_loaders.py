"""Data sets that functions of plug-ins load."""

from typing import Any

import numpy as np
import pytest

from harness.core.errors import MemberError
from harness.tasks import loaders
from harness.tasks.load_examples import load_examples
from harness.tasks.task import PluginData, Task

ROWS = [{"text": "good", "stars": 2}, {"text": "bad", "stars": 1}]


def task() -> Task:
    given: dict[str, Any] = {"text_fields": ("text",), "label_field": "stars", "labels": ("1", "2")}
    data = PluginData(name="mine")
    return Task(name="own", kind="classification", data=data, metrics=("accuracy",), **given)


@pytest.mark.parametrize(
    "found",
    [ROWS, iter(ROWS), {"text": ["good", "bad"], "stars": np.array([2, 1])}],
    ids=["list", "generator", "columns"],
)
def test_examples_and_columns_are_read_alike(found: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(loaders.DATASETS, "mine", lambda split: found)
    examples = load_examples(task(), "train")
    assert list(examples.texts) == [("good",), ("bad",)]
    assert examples.labels.tolist() == [1, 0]  # the class named 2 is the second one


def test_a_split_is_loaded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []

    def loader(split: str) -> Any:
        calls.append(split)
        return ROWS

    monkeypatch.setitem(loaders.DATASETS, "mine", loader)
    for split in ("train", "validation", "train"):
        loaders.load("mine", split)
    assert calls == ["train", "validation"]


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (None, "'mine', split 'train': its loader must return or yield examples, .* but gave None"),
        ("text", "but gave 'text'"),
        ([], r"but gave \[\]"),
        ([{"text": "a"}, {"texts": "b"}], "mappings with the same keys"),
        ({"text": ["a", "b"], "label": [1]}, "equal lengths, but have {'text': 2, 'label': 1}"),
    ],
)
def test_something_else_is_refused(
    found: Any, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(loaders.DATASETS, "mine", lambda split: found)
    with pytest.raises(MemberError, match=message):
        loaders.load("mine", "train")


def test_a_name_is_that_of_a_plugin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(loaders.DATASETS, "mine", lambda split: ROWS)
    with pytest.raises(ValueError, match="the data set 'mines' is not known; did you mean 'mine'"):
        loaders.load("mines", "train")
