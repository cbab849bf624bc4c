"""Tasks that are declared by their files alone."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from harness.tasks.custom import CustomSuite
from harness.tasks.examples import Examples, content_holdout
from harness.tasks.inference import inferred
from harness.tasks.load_examples import load_examples
from harness.tasks.summary import summary
from harness.tasks.task import Split, Task
from harness.tasks.text_sample import sample_texts

VALIDATION = Split(name="validation")
WRITERS: dict[str, Callable[[pd.DataFrame, Path], Any]] = {
    "csv": lambda frame, path: frame.to_csv(path, index=False),
    "csv.gz": lambda frame, path: frame.to_csv(path, index=False),
    "tsv": lambda frame, path: frame.to_csv(path, index=False, sep="\t"),
    "jsonl": lambda frame, path: frame.to_json(path, orient="records", lines=True),
    "parquet": lambda frame, path: frame.to_parquet(path),
}


def frame(size: int = 60, **columns: Any) -> pd.DataFrame:
    """Reviews with a label that alternates, unless `columns` replace them."""
    texts = [f'meal {row}, "as they say", was fine' for row in range(size)]
    labels = [("good", "bad")[row % 2] for row in range(size)]
    return pd.DataFrame({"text": texts, "label": labels} | columns)


def written(folder: Path, rows: pd.DataFrame, name: str = "train.csv") -> str:
    path = folder / name
    WRITERS[name.partition(".")[2]](rows, path)
    return str(path)


def task(fields: dict[str, Any]) -> Task:
    return Task.model_validate(inferred({"name": "mine", **fields}))


@pytest.mark.parametrize("suffix", WRITERS)
def test_a_file_is_enough(tmp_path: Path, suffix: str) -> None:
    found = task({"data": written(tmp_path, frame(), f"reviews.{suffix}")})
    assert (found.kind, found.text_fields, found.label_field) == (
        "classification",
        ("text",),
        "label",
    )
    assert (found.labels, found.metrics) == (("bad", "good"), ("accuracy", "macro_f1"))
    train, dev = load_examples(found, "train"), load_examples(found, VALIDATION)
    assert (len(train), len(dev)) == (found.train_size, 12) == (48, 12)
    assert np.bincount(dev.labels).tolist() == [6, 6]
    assert sorted([*train.texts, *dev.texts]) == sorted(zip(frame()["text"], strict=True))
    assert summary(found) == (
        "mine: classification, text -> label; "
        f"48 train (bad: 24, good: 24); 12 validation (20% of reviews.{suffix}; bad: 6, good: 6); "
        "accuracy, macro_f1"
    )
    assert sample_texts(found, 5) == [(text,) for text in frame()["text"][:5]]


def test_a_hold_out_of_whole_groups_is_named(tmp_path: Path) -> None:
    rows = frame().assign(book=[f"book {n // 4}" for n in range(len(frame()))])
    found = task({"data": written(tmp_path, rows, "reviews.csv"), "group_field": "book"})
    assert "validation (20% of reviews.csv, by whole groups of book; bad: " in summary(found)


def test_the_order_of_rows_does_not_change_the_hold_out(tmp_path: Path) -> None:
    rows = frame()
    dev_sets = [
        set(load_examples(task({"data": written(tmp_path, part, name)}), VALIDATION).texts)
        for part, name in ((rows, "a.csv"), (rows.sample(frac=1, random_state=1), "b.csv"))
    ]
    assert dev_sets[0] == dev_sets[1]


def test_inputs_and_groups_are_not_divided() -> None:
    texts: list[tuple[str, ...]] = [
        *((f"A  b{row % 30}", "c") for row in range(30)),
        *(("C", f"a b{row}") for row in range(30)),
    ]
    labels = np.arange(60) % 2
    held = content_holdout(Examples(texts, labels), 0.2)
    assert held[:30].tolist() == held[30:].tolist()
    assert held.sum() == 12  # 6 of 30 inputs
    groups = np.array([f"{row // 6}" for row in range(60)], dtype=object)
    held = content_holdout(Examples(texts, labels, groups=groups), 0.2).reshape(10, 6)
    assert held.all(axis=1).sum() == 2
    assert held.any(axis=1).sum() == 2


def test_a_class_of_one_example_stays_in_train() -> None:
    texts: list[tuple[str, ...]] = [(f"text {row}",) for row in range(21)]
    held = content_holdout(Examples(texts, np.array([0] * 20 + [1])), 0.6)
    assert held.sum() == 12
    assert not held[-1]


@pytest.mark.parametrize(
    ("names", "split"),
    [(["dev", "test"], "validation"), (["valid", "dev"], "validation"), (["test"], "test")],
)
def test_a_file_beside_the_train_file_is_the_dev_set(
    tmp_path: Path, names: list[str], split: str
) -> None:
    data = written(tmp_path, frame(20), "constraints_train.csv")
    paths = [written(tmp_path, frame(10), f"constraints_{name}.csv") for name in names]
    found = task({"data": data})
    assert found.data.files == {"train": data, split: paths[0]}  # type: ignore[union-attr]
    assert [one.name for one in found.evaluation] == [split]
    shown = f"10 {split} (constraints_{names[0]}.csv; bad: 5, good: 5), 10 of them also in train"
    assert f"20 train (bad: 10, good: 10); {shown}" in summary(found)


def test_questions_with_other_choices_are_other_inputs(tmp_path: Path) -> None:
    rows = pd.DataFrame({"question": ["what flies?"] * 3, "choices": [["a bear", "a fly"]] * 3})
    files = {"train": written(tmp_path, rows.assign(label=1), "train.jsonl")}
    rows["choices"] = [["a bear", "a fly"], ["a fly", "a bear"], ["a bird", "a cow"]]
    files["validation"] = written(tmp_path, rows.assign(label=0), "dev.jsonl")
    fields = {"kind": "multiple_choice", "choices_field": "choices", "metrics": ["accuracy"]}
    found = task({"data": {"files": files}, "text_fields": ["question"], **fields})
    assert "3 validation (dev.jsonl), 1 of them also in train" in summary(found)


def test_a_hold_out_that_no_example_fits_says_why(tmp_path: Path) -> None:
    rows = pd.DataFrame({"question": ["what flies?"] * 9, "label": [0, 1, 1] * 3})
    rows["choices"] = [[f"a {row}", f"b {row}"] for row in range(9)]
    files = {"train": written(tmp_path, rows, "train.jsonl")}
    fields = {"kind": "multiple_choice", "choices_field": "choices", "metrics": ["accuracy"]}
    found = {"data": {"files": files, "holdout_fraction": 0.2}, "text_fields": ["question"]}
    message = "none: 20% of the inputs in train.jsonl, of which rows with equal question count as"
    with pytest.raises(ValueError, match=message):
        load_examples(task(found | fields), VALIDATION)


def test_a_test_file_without_labels_is_not_the_dev_set(tmp_path: Path) -> None:
    data = written(tmp_path, frame())
    written(tmp_path, frame()[["text"]], "test.csv")
    assert list(task({"data": data}).data.files) == ["train"]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"label": np.arange(60) / 7}, ("regression", (), "spearman", 0)),
        ({"label": [0.0, 1.0] * 30}, ("classification", ("0", "1"), "accuracy", 0.5)),
        ({"label": [1, 2, 10] * 20}, ("classification", ("1", "2", "10"), "accuracy", 0.3333)),
        (
            {"label": [1.0, 2.0, 10.0] * 20},
            ("classification", ("1", "2", "10"), "accuracy", 0.3333),
        ),
        ({"label": [True, False] * 30}, ("classification", ("false", "true"), "accuracy", 0.5)),
        ({"label": ["a"] * 50 + ["b"] * 10}, ("classification", ("a", "b"), "macro_f1", None)),
    ],
)
def test_kind_labels_and_metric(
    tmp_path: Path, columns: dict[str, Any], expected: tuple[Any, ...]
) -> None:
    rows = frame(**columns)
    found = task({"data": written(tmp_path, rows)})
    assert (found.kind, found.labels, found.metrics[0], found.chance) == expected
    labels = load_examples(found, VALIDATION).labels
    if found.labels == ("1", "2", "10"):
        assert np.bincount(labels).tolist() == [4, 4, 4]


def test_the_dev_labels_do_not_choose_the_metric(tmp_path: Path) -> None:
    data = written(tmp_path, frame(20))
    written(tmp_path, frame(10, label=["good"] * 9 + ["bad"]), "dev.csv")
    found = task({"data": data})
    assert (found.metrics, found.chance) == (("accuracy", "macro_f1"), 0.9)


@pytest.mark.parametrize("kind", [int, float])
def test_whole_scores_are_values(tmp_path: Path, kind: type) -> None:
    rows = frame(score=(np.arange(60) % 6).astype(kind)).drop(columns="label")
    assert task({"data": written(tmp_path, rows)}).kind == "regression"


@pytest.mark.parametrize("stars", [range(1, 6), np.arange(1, 6) / 2])
def test_given_labels_make_classes_of_numbers(tmp_path: Path, stars: Sequence[float]) -> None:
    rows = frame(score=list(stars) * 12).drop(columns="label")
    names = [f"{value:g}" for value in stars]
    found = task({"data": written(tmp_path, rows), "labels": names})
    assert (found.kind, found.labels) == ("classification", tuple(names))
    assert np.bincount(load_examples(found, "train").labels).tolist() == [10, 10, 10, 10, 10]


@pytest.mark.parametrize("name", ["dev", "valid", "test"])
def test_files_that_no_split_reads_are_named(tmp_path: Path, name: str) -> None:
    files = {"train": written(tmp_path, frame()), name: written(tmp_path, frame(9), "a.csv")}
    fields = {"name": "mine", "data": {"files": files}}
    with pytest.raises(ValueError, match=f"a path for {name}, which no split reads; rename the"):
        CustomSuite.model_validate({"name": "mine-v1", "tasks": [fields]})
    scored = fields | {"evaluation": [{"name": name}]}
    assert CustomSuite.model_validate({"name": "mine-v1", "tasks": [scored]})


def test_given_fields_are_kept_and_equal_the_inferred_ones(tmp_path: Path) -> None:
    data = written(tmp_path, frame(other=["x", "y", "z"] * 20))
    given = {"label_field": "other", "metrics": ["macro_f1"], "labels": ["x", "z", "y"]}
    found = task({"data": data, **given})
    assert (found.label_field, found.labels) == ("other", ("x", "z", "y"))
    whole = found.model_dump(mode="json")
    assert inferred(whole) == whole
    share = {"files": {"train": data}, "holdout_fraction": 0.5}
    assert len(load_examples(task({"data": share}), VALIDATION)) == 30


@pytest.mark.parametrize(
    ("rows", "dev", "message"),
    [
        (
            frame(label=["good"] * 60),
            None,
            "different labels are needed, but 'label' has only 'good'",
        ),
        (frame(label=[f"c{row}" for row in range(60)]), None, "of the 60 values .* all are differ"),
        (
            frame(text=["fine meal"] * 59 + [" "]),
            None,
            "text in 'text', but row 60 of train has ' '",
        ),
        (frame(text=["fine meal"] * 59 + [None]), None, "text in 'text', but row 60 .* is empty"),
        (
            frame(label=["a"] * 59 + [None]),
            None,
            "a label in 'label', but row 60 of train has none",
        ),
        (frame(label=["1", "2"] * 29 + ["1", "good"]), None, "all numbers or all text.*'good'"),
        (frame(label=[0.5, 1.0] * 30), None, "two fractions.*set kind to regression"),
        (frame(label=["1,5", "2,25"] * 30), None, "a decimal point, but 'label' has '1,5'"),
        (
            frame(label=["good", "Good", "bad"] * 20),
            None,
            "more than case and spaces, but 'label' has 'Good' and 'good'; correct the file",
        ),
        (frame(0), None, r"train\.csv must have rows below .*text.*, but has none"),
        (frame(), frame(0), r"dev\.csv must have rows below .*, but has none"),
        (frame(20), None, r"at least 50 examples to hold out 20% of them, but .* has 20"),
        (frame(6), frame(), r"at least 8 examples, but .*train.csv has 6"),
        (
            frame(),
            frame(label=["fair"] * 60),
            "labels of validation must be in the train .* fair of",
        ),
        (
            frame(),
            frame().drop(columns="label"),
            "needs the column 'label', but validation has text",
        ),
    ],
)
def test_what_cannot_be_inferred_is_one_line(
    tmp_path: Path, rows: pd.DataFrame, dev: pd.DataFrame | None, message: str
) -> None:
    data = written(tmp_path, rows)
    if dev is not None:
        written(tmp_path, dev, "dev.csv")
    with pytest.raises(ValueError, match=message) as caught:
        inferred({"name": "mine", "data": data})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"data": "nothing.csv"}, "needs the file nothing.csv, but it does not exist"),
        ({"data": "train.xlsx"}, r"a file that ends in \.csv, \.tsv, .* but is 'train.xlsx'"),
        ({"data": {"source": "cvs", "files": {"train": "train.csv"}}}, "data.source must be csv,"),
        ({"data": "train.csv", "text_fields": "text"}, "text_fields must be a list of columns"),
        (
            {"data": "train.csv", "kind": "regression"},
            "regression needs numbers in 'label', but one",
        ),
    ],
)
def test_wrong_fields_are_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fields: dict[str, Any], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path, frame())
    with pytest.raises(ValueError, match=message):
        inferred({"name": "mine", **fields})


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", r"train\.csv must have names of columns and rows, but is empty"),
        ("text,label\nfine,good\n".encode("utf-16"), "in UTF-8.*iconv"),
        (b"text,label\n" + b"fine meal,good\n" * 9_000 + b"caf\xe9,bad\n", "utf-8.*with iconv"),
    ],
    ids=["empty", "utf16", "latin1_late"],
)
def test_other_content_is_one_line(tmp_path: Path, content: bytes, message: str) -> None:
    file = tmp_path / "train.csv"
    file.write_bytes(content)
    with pytest.raises(ValueError, match=message) as caught:
        inferred({"name": "mine", "data": str(file)})
    assert "\n" not in str(caught.value)


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "train.csv").mkdir()
    with pytest.raises(ValueError, match=r"train\.csv, but it is a folder$"):
        inferred({"name": "mine", "data": str(tmp_path / "train.csv")})


def test_tasks_that_are_not_on_files_are_left_alone() -> None:
    for data in ({"source": "hub", "path": "a/b"}, 3, {"files": 3}, {"files": {"validation": "x"}}):
        assert inferred({"name": "mine", "data": data}) == {"name": "mine", "data": data}
