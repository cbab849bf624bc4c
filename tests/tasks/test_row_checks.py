"""Rows of the user's own data that nothing can be learned from."""

import json
from pathlib import Path
from typing import Any

import pytest

from harness.tasks.examples import Answers
from harness.tasks.load_examples import load_examples
from harness.tasks.task import FileData, HubData, Split, Task
from tests.tasks.mirrors import Mirror

PASSAGE = "The bear sleeps."
MISPLACED = "needs each answer at its answer_start, in characters from 0, in 'passage'"
GOOD: dict[str, Any] = {
    "multiple_choice": {"question": "Who?", "choices": ["a bear", "a cat"], "label": 1},
    "generation": {"question": "Who?", "target": "the bear"},
    "extraction": {
        "question": "Who?",
        "passage": PASSAGE,
        "answers": {"text": ["bear"], "answer_start": [4]},
    },
    "tagging": {"words": ["a", "bear"], "tags": ["O", "B-X"]},
    "classification": {"text": "a bear", "label": 1},
}
"""Kind of task to a row as it must be."""
FIELDS: dict[str, dict[str, Any]] = {
    "multiple_choice": {"text_fields": ("question",), "choices_field": "choices"},
    "generation": {"text_fields": ("question",), "label_field": "target"},
    "extraction": {"text_fields": ("question", "passage"), "label_field": "answers"},
    "tagging": {"text_fields": ("words",), "label_field": "tags", "labels": ("O", "B-X")},
    "classification": {"text_fields": ("text",), "labels": ("no", "yes")},
    "regression": {"text_fields": ("text",)},
}


def task_of(kind: str, folder: Path, rows: list[dict[str, Any]], **fields: Any) -> Task:
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    data = FileData(source="jsonl", files={"train": str(path), "validation": str(path)})
    known: dict[str, Any] = {"name": "mine", "kind": kind, "metrics": ("accuracy",), "data": data}
    return Task(**(known | FIELDS[kind] | fields))


def answers(texts: Any, starts: Any) -> dict[str, Any]:
    return {"answers": {"text": texts, "answer_start": starts}}


@pytest.mark.parametrize("kind", GOOD)
def test_rows_as_they_must_be(kind: str, tmp_path: Path) -> None:
    first = {**GOOD[kind], "label": 0} if "label" in GOOD[kind] else GOOD[kind]
    assert len(load_examples(task_of(kind, tmp_path, [first, GOOD[kind]]), "train")) == 2


def test_other_rows_that_can_be(tmp_path: Path) -> None:
    three = {**GOOD["multiple_choice"], "choices": ["a", "b", "c"], "label": 2}
    examples = load_examples(
        task_of("multiple_choice", tmp_path, [GOOD["multiple_choice"], three]), "train"
    )
    assert [len(choices) for choices in examples.choices or ()] == [2, 3]
    without = {**GOOD["extraction"], **answers([], [])}
    examples = load_examples(
        task_of("extraction", tmp_path, [GOOD["extraction"], without]), "train"
    )
    assert list(examples.labels) == [Answers(("bear",), (4,)), Answers((), ())]
    several = {**GOOD["generation"], "target": ["a bear", "the bear"]}
    examples = load_examples(task_of("generation", tmp_path, [several]), "train")
    assert list(examples.labels) == [("a bear", "the bear")]
    lettered = {**GOOD["multiple_choice"], "label": "A"}
    task = task_of("multiple_choice", tmp_path, [lettered], labels=("A", "B"))
    assert load_examples(task, "train").labels.tolist() == [0]


def test_a_condition_leaves_hidden_rows_of_other_splits(tmp_path: Path) -> None:
    rows = [{**GOOD["multiple_choice"], "label": label, "part": str(label)} for label in (1, -1)]
    task = task_of("multiple_choice", tmp_path, rows)
    for label in (1, -1):
        split = Split(name="validation", where={"part": str(label)})
        assert load_examples(task, split).labels.tolist() == [label]
    with pytest.raises(ValueError, match=r"row 2 of .* has -1 for 2 choices"):
        load_examples(task, "train")


@pytest.mark.parametrize(
    ("kind", "fields", "message"),
    [
        ("multiple_choice", {"choices": "a|b"}, "needs a list of two or more texts in 'choices'"),
        ("multiple_choice", {"choices": {"text": ["a"], "label": ["A"]}}, "has {'text': ['a'],"),
        ("multiple_choice", {"choices": None}, "has null"),
        ("multiple_choice", {"choices": [1, 2]}, "has [1, 2]"),
        ("multiple_choice", {"choices": ["a"], "label": 0}, "has ['a']"),
        ("multiple_choice", {"choices": []}, "has []"),
        ("multiple_choice", {"choices": ["a", None]}, "has ['a', None]"),
        ("multiple_choice", {"label": 2}, "the index of a choice, from 0, in 'label'"),
        ("multiple_choice", {"label": -1}, "has -1 for 2 choices"),
        ("multiple_choice", {"label": None}, "has null for 2 choices"),
        ("multiple_choice", {"label": 0.5}, "has 0.5 for 2 choices"),
        ("multiple_choice", {"label": "a cat"}, "has 'a cat' for 2 choices"),
        ("multiple_choice", {"label": True}, "has True for 2 choices"),
        ("multiple_choice", {"label": [1]}, "has [1] for 2 choices"),
        ("generation", {"target": {"text": "the bear"}}, "needs a text, or a list of reference"),
        ("generation", {"target": 5}, "has 5"),
        ("generation", {"target": None}, "has null"),
        ("generation", {"target": []}, "has []"),
        ("generation", {"target": [1]}, "has [1]"),
        ("extraction", answers(["bear"], [999]), f"{MISPLACED}, but"),
        ("extraction", answers(["bear"], [6]), "has 'bear' at 6, which begins at 4"),
        ("extraction", answers(["bear"], [-12]), "has 'bear' at -12, which begins at 4"),
        ("extraction", answers(["cat"], [4]), "has 'cat' at 4, which is not in 'passage'"),
        ("extraction", answers(["The", "cat"], [0, 4]), "has 'cat' at 4"),
        ("extraction", answers(["bear"], []), "needs answers as {"),
        ("extraction", answers("bear", 4), "has {'text': 'bear', 'answer_start': 4}"),
        ("extraction", answers(["bear"], None), "with both lists empty for no answer"),
        ("extraction", answers([""], [0]), "needs answers as {"),
        ("extraction", {"answers": {"text": ["bear"]}}, "has {'text': ['bear']"),
        ("extraction", {"answers": ["bear"]}, "has ['bear']"),
        ("extraction", {"answers": "bear"}, "has 'bear'"),
        ("extraction", {"answers": None}, "has null"),
        ("tagging", {"tags": "O B-X"}, "needs a list with a tag for each word in 'tags'"),
        ("tagging", {"tags": 1}, "has 1"),
        ("tagging", {"tags": None}, "has null"),
    ],
)
def test_broken_rows_are_named(
    kind: str, fields: dict[str, Any], message: str, tmp_path: Path
) -> None:
    broken = {**GOOD[kind], **fields}
    # JSON lines with columns of two types cannot be read at all.
    is_alike = all(v is None or type(v) is type(GOOD[kind][name]) for name, v in broken.items())
    rows = [GOOD[kind], broken] if is_alike else [broken]
    task = task_of(kind, tmp_path, rows)
    for split in ("train", task.evaluation[0]):
        with pytest.raises(ValueError) as caught:  # noqa: PT011
            load_examples(task, split)
        assert str(caught.value).startswith("mine needs ")
        assert f"row {len(rows)} of {tmp_path}/rows.jsonl has " in str(caught.value)
        assert message in str(caught.value)
        assert "\n" not in str(caught.value)


def test_a_class_is_no_list(tmp_path: Path) -> None:
    task = task_of("classification", tmp_path, [{"text": "a", "label": [1]}])
    with pytest.raises(ValueError, match=r"mine must be names or numbers, but one is \[1\]"):
        load_examples(task, "train")


@pytest.mark.parametrize(
    ("kind", "rows", "message"),
    [
        ("classification", ["no", "maybe"], "must be no, yes, but one is 'maybe'"),
        ("classification", [0, 2], r"must be 0 to 1 \(no, yes\), but its split train has \[0, 2\]"),
        ("classification", ["no", None], "must be 0 to 1"),
        ("regression", [0.5, None], "needs finite numbers in 'label', .* has None"),
        ("regression", ["0.5", "high"], "needs finite numbers in 'label', .* has 'high'"),
    ],
)
def test_the_row_of_a_label_that_nothing_can_be(
    kind: str, rows: list[Any], message: str, tmp_path: Path
) -> None:
    labels = ("no", "yes") if kind == "classification" else ()
    given = [{"text": "a bear", "label": label} for label in rows]
    task = task_of(kind, tmp_path, given, text_fields=("text",), labels=labels)
    with pytest.raises(ValueError, match=rf"^row 2 of {tmp_path}/rows.jsonl: .*{message}"):
        load_examples(task, "train")


def test_a_row_without_its_group_is_named(tmp_path: Path) -> None:
    """Rows without one would be a group together."""
    rows = [{**GOOD["classification"], "label": n, "author": name} for n, name in enumerate("a-")]
    rows[1]["author"] = None
    task = task_of("classification", tmp_path, rows, group_field="author")
    with pytest.raises(ValueError, match=r"a group in every row of 'author', but row 2 of .* none"):
        load_examples(task, "train")


def test_empty_cells_of_patterns_are_named(tmp_path: Path) -> None:
    """They would be the word None."""
    rows = [{"text": "bear", "age": age, "label": label} for label, age in enumerate((3, None))]
    fields = {"text_fields": ("{age}: {text}",)}
    task = task_of("classification", tmp_path, [rows[0], {**rows[1], "age": 4}], **fields)
    assert load_examples(task, "train").texts == [("3: bear",), ("4: bear",)]
    task = task_of("classification", tmp_path, rows, **fields)
    with pytest.raises(ValueError, match="needs text in 'age', but row 2 of its split train"):
        load_examples(task, "train")


@pytest.mark.parametrize("pattern", ["{}", "{text", "{text} {}", "{text:{label}}"])
def test_patterns_name_columns(pattern: str, tmp_path: Path) -> None:
    task = task_of("classification", tmp_path, [GOOD["classification"]], text_fields=(pattern,))
    with pytest.raises(ValueError, match="must have names of columns in braces, such as"):
        load_examples(task, "train")


def test_formats_of_patterns_suit_their_columns(tmp_path: Path) -> None:
    rows = [{"text": "a", "label": 0, "age": 1.25}, {"text": "a", "label": 1, "age": 2.0}]
    task = task_of("classification", tmp_path, rows, text_fields=("{age:.1f} {text}",))
    assert load_examples(task, "train").texts == [("1.2 a",), ("2.0 a",)]
    task = task_of("classification", tmp_path, rows, text_fields=("{text:.1f}",))
    with pytest.raises(ValueError, match="of text_fields cannot be filled: Unknown format code"):
        load_examples(task, "train")


def test_rows_that_a_quotation_mark_joins_are_named(tmp_path: Path) -> None:
    """In tab-separated files without quoting, a mark at the start of a cell swallows rows up to the
    next one."""
    lines = ["text\tlabel", "a bear\tno", '"Yes, it is\tyes', "a cat\tno", '"No\tno', "a dog\tyes"]
    (tmp_path / "rows.tsv").write_text("\n".join(lines) + "\n")
    data = FileData(source="tsv", files={"train": str(tmp_path / "rows.tsv")})
    task = task_of("classification", tmp_path, []).model_copy(update={"data": data})
    with pytest.raises(ValueError, match=r"quotation marks are doubled.*row 2 of .*rows.tsv has"):
        load_examples(task, "train")
    places = ("place", "1", '"x', "2", '"y', "3")  # in a column that is not used
    unused = [f"{line}\t{place}" for line, place in zip(lines, places, strict=True)]
    (tmp_path / "rows.tsv").write_text(
        "\n".join(unused).replace('"Yes', "Yes").replace('"No', "No")
    )
    with pytest.raises(ValueError, match=r"quotation marks are doubled.*row 2 of .*rows.tsv has"):
        load_examples(task, "train")
    quoted = [line if row != 2 else '"""Yes"", it is"\tyes' for row, line in enumerate(lines[:4])]
    (tmp_path / "rows.tsv").write_text("\n".join(quoted) + "\n")
    assert load_examples(task, "train").texts[1] == ('"Yes", it is',)


def test_conditions_on_whole_numbers_hold_beside_empty_cells(tmp_path: Path) -> None:
    """The column is then one of floats."""
    rows = "text,label,part\na bear,0,1\na cat,1,1\na dog,1,\n"
    (tmp_path / "rows.csv").write_text(rows)
    data = FileData(source="csv", files={"validation": str(tmp_path / "rows.csv")})
    task = task_of("classification", tmp_path, []).model_copy(update={"data": data})
    for value in ("1", "1.0"):
        split = Split(name="validation", where={"part": value})
        assert len(load_examples(task, split)) == 2


@pytest.mark.parametrize(
    ("kind", "cell", "needs"),
    [
        ("generation", {"target": {"text": ["a"], "answer_start": [0]}}, "a text, or a list of"),
        ("multiple_choice", {"choices": {"text": ["a", "b"]}}, "a list of two or more texts in"),
        ("extraction", {"answers": "a bear"}, "answers as {"),
        ("tagging", {"tags": "O"}, "a list with a tag for each word in"),
    ],
)
def test_rows_of_the_hub_are_checked_in_declared_tasks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, cell: dict[str, Any], needs: str
) -> None:
    """The keys of a mapping were read as texts."""
    row = {**GOOD[kind], **cell}
    Mirror(tmp_path).write("some/rows", None, {"train": {name: [row[name]] for name in row}})
    monkeypatch.setenv("HARNESS_DATA", str(tmp_path))
    task = task_of(kind, tmp_path, [], data=HubData(path="some/rows"))
    with pytest.raises(ValueError, match=f"mine needs {needs}.* row 1 of its split train has"):
        load_examples(task, "train")
