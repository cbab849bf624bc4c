"""Tasks of a user's own files, declared in the experiment and nowhere else."""

import csv
import gzip
import json
import textwrap
from pathlib import Path
from typing import Any
from warnings import catch_warnings

import datasets
import numpy as np
import pytest
import yaml
from pydantic import ValidationError

import harness
from harness.data import hub
from harness.experiment.evaluation import Evaluate
from harness.experiment.source import DeclarationError
from harness.plan.factory import load_plan
from harness.tasks.custom import GROUPED, METRICS_OF_KIND, CustomSuite, as_suite, tasks_of
from harness.tasks.data_files import first_rows, header
from harness.tasks.load_examples import load_examples
from harness.tasks.metrics import METRICS
from harness.tasks.task import FileData, Split, Task
from tests.paths import ROOT

GOOD, BAD = ("a fine and lovely meal, really", "a cold and awful meal, really")


def review_rows(count: int) -> list[dict[str, Any]]:
    return [
        {"id": n, "text": (BAD, GOOD)[n % 2], "stars": ("bad", "good")[n % 2]} for n in range(count)
    ]


@pytest.fixture
def own(tmp_path: Path) -> dict[str, Any]:
    """An experiment over a shipped task, a csv and a jsonl file."""
    for name, count in (("train", 40), ("dev", 12)):
        rows = review_rows(count)
        with (tmp_path / f"{name}.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, rows[0])
            writer.writeheader()
            writer.writerows(rows)
        lines = [{"one": BAD, "two": row["text"], "alike": float(row["id"] % 3)} for row in rows]
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (tmp_path / f"{name}.jsonl").write_text(text)
    files = {
        form: {"train": f"{tmp_path}/train.{form}", "validation": f"{tmp_path}/dev.{form}"}
        for form in ("csv", "jsonl")
    }
    reviews = {
        "name": "reviews",
        "kind": "classification",
        "data": {"source": "csv", "files": files["csv"]},
        "text_fields": ["text"],
        "label_field": "stars",
        "labels": ["bad", "good"],
        "metrics": ["accuracy", "macro_f1"],
        "chance": 0.5,
    }
    alike = {
        "name": "alike",
        "kind": "regression",
        "data": {"source": "jsonl", "files": files["jsonl"]},
        "text_fields": ["one", "two"],
        "label_field": "alike",
        "metrics": ["pearson"],
    }
    return {
        "name": "own",
        "question": "Does a task need any Python?",
        "pretrain": {
            "size": "nano",
            "corpus": {"source": "microworld", "num_tokens": 20_000},
            "tokenizer": {"vocab_size": 300},
            "phases": [{"fraction": 1, "sequence_length": 64}],
            "batch_size": 8,
            "budget": {"tokens": 2_000},
        },
        "evaluate": {
            "suite": {"name": "reviews-v1", "tasks": ["micro-sst2", reviews, alike]},
            "tasks": ["reviews", "alike"],
            "protocol": {"pooling": "mean", "max_train_examples": 30, "max_sequence_length": 32},
            "finetune": {"epochs": 1},
        },
    }


def write(folder: Path, experiment: dict[str, Any]) -> Path:
    path = folder / "own.yaml"
    path.write_text(yaml.safe_dump(experiment, sort_keys=False))
    return path


def reviews_of(own: dict[str, Any]) -> dict[str, Any]:
    task: dict[str, Any] = own["evaluate"]["suite"]["tasks"][1]
    return task


def problem(path: Path) -> str:
    with pytest.raises(DeclarationError) as caught:
        load_plan(path)
    (line,) = caught.value.problems
    return line


def test_from_files_to_a_table_and_a_report(tmp_path: Path, own: dict[str, Any]) -> None:
    study = harness.load(write(tmp_path, own), store=tmp_path / "runs")
    study.run(executor="serial")
    assert not study.last_run.failed
    table = study.table()
    assert [(c.name, c.metrics) for c in table.columns] == [
        ("reviews", ("accuracy",)),
        ("alike", ("pearson",)),
    ]
    assert table.references[0].scores[0].mean == 50  # type: ignore[union-attr]
    assert set(study.scores()["metric"]) == {"accuracy", "macro_f1", "pearson"}
    assert set(study.scores()["suite"]) == {"reviews-v1"}
    page = (study.write_report() / "index.html").read_text()
    assert "reviews-v1" in page


def test_a_suite_of_ones_own(own: dict[str, Any]) -> None:
    suite = Evaluate.read(own["evaluate"]).suite_value
    assert suite.tasks == ("micro-sst2", "reviews", "alike") == tuple(tasks_of(suite))
    assert [column.task for column in suite.columns] == list(suite.tasks)
    assert suite.average == "mean_of_columns"
    assert as_suite("glue-v1").name == "glue-v1"


def test_where_the_files_lie_is_not_in_a_key(tmp_path: Path, own: dict[str, Any]) -> None:
    here = load_plan(write(tmp_path, own))
    other = tmp_path / "elsewhere"
    other.mkdir()
    for task in own["evaluate"]["suite"]["tasks"][1:]:
        for split, path in task["data"]["files"].items():
            task["data"]["files"][split] = str(Path(path).rename(other / Path(path).name))
    there = load_plan(write(tmp_path, own))
    assert list(here.stages) == list(there.stages)
    with (other / "dev.csv").open("a") as file:
        file.write("99,another,good\n")
    changed = load_plan(write(tmp_path, own))
    assert len(set(changed.stages) - set(there.stages)) == 1


def test_a_missing_file_is_found_before_anything_is_spent(
    tmp_path: Path, own: dict[str, Any]
) -> None:
    (tmp_path / "dev.csv").unlink()
    line = problem(write(tmp_path, own))
    number = next(
        n
        for n, text in enumerate((tmp_path / "own.yaml").read_text().splitlines(), 1)
        if "dev.csv" in text
    )
    assert line.startswith(
        f"{tmp_path}/own.yaml:{number}: reviews: needs the file {tmp_path}/dev.csv"
    )


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_a_missing_column_is_found(tmp_path: Path, own: dict[str, Any], form: str) -> None:
    number = 1 if form == "csv" else 2
    own["evaluate"]["suite"]["tasks"][number]["label_field"] = "mark"
    line = problem(write(tmp_path, own))
    assert f"needs the column 'mark', but {tmp_path}/train.{form} has " in line


def test_a_missing_column_of_the_test_split_is_found(tmp_path: Path, own: dict[str, Any]) -> None:
    reviews = reviews_of(own)
    (tmp_path / "test.csv").write_text("text\na meal\n")
    reviews["test"] = [{"name": "test"}]
    reviews["data"]["files"]["test"] = str(tmp_path / "test.csv")
    assert f"needs the column 'stars', but {tmp_path}/test.csv has text" in problem(
        write(tmp_path, own)
    )


def test_a_file_that_is_not_json(tmp_path: Path, own: dict[str, Any]) -> None:
    (tmp_path / "train.jsonl").write_text("one,two\n")
    assert "must be jsonl in UTF-8" in problem(write(tmp_path, own))


def test_stars_as_numbers_are_the_names_of_classes(tmp_path: Path, own: dict[str, Any]) -> None:
    rows = "".join(f"a text,{1 + n % 5}\n" for n in range(10))
    (tmp_path / "dev.csv").write_text("text,stars\n" + rows)
    reviews = reviews_of(own)
    reviews["labels"] = ["1", "2", "3", "4", "5"]
    task = Evaluate.read(own["evaluate"]).chosen["reviews"]
    labels = load_examples(task, Split(name="validation")).labels
    np.testing.assert_array_equal(labels, np.arange(10) % 5)


def test_a_text_must_be_text(tmp_path: Path, own: dict[str, Any]) -> None:
    (tmp_path / "dev.csv").write_text("text,stars\n,good\nfine,bad\n")
    task = Evaluate.read(own["evaluate"]).chosen["reviews"]
    with pytest.raises(ValueError, match="reviews needs text in 'text', but row 1 of its split"):
        load_examples(task, Split(name="validation"))


def file_task(folder: Path, form: str, text: str, **fields: Any) -> Task:
    """A task whose train and validation are one file."""
    path = folder / f"rows.{form}"
    path.write_text(text)
    data = FileData.model_validate(
        {"source": form, "files": dict.fromkeys(("train", "validation"), str(path))}
    )
    common: dict[str, Any] = {"name": "mine", "text_fields": ("text",), "metrics": ("accuracy",)}
    return Task(data=data, **(common | fields))


def json_task(folder: Path, rows: list[dict[str, Any]], **fields: Any) -> Task:
    text = "".join(json.dumps({"text": "a"} | row) + "\n" for row in rows)
    return file_task(folder, "jsonl", text, **fields)


VALIDATION = Split(name="validation")
CHOICE = {"kind": "multiple_choice", "choices_field": "choices"}
VALUES = {"kind": "regression", "metrics": ("pearson",)}
MENTIONS = {"kind": "coreference", "metrics": ("coref_f1",)}
RANKED = {
    "kind": "retrieval",
    "metrics": ("ndcg_at_10",),
    "text_fields": ("text", "document"),
    "group_field": "query",
}
DOCUMENT = ["a b .", "c ."]
TAGS = {"kind": "tagging", "labels": ("O", "B-X"), "metrics": ("accuracy_tags",)}


@pytest.mark.parametrize(
    ("rows", "fields", "message"),
    [
        ([{"label": 2, "choices": ["b", "c"]}], CHOICE, "the index of a choice.* 2 for 2 choices"),
        (
            [{"label": 0, "choices": ["b", "c"]}, {"label": -1, "choices": ["b", "c"]}],
            CHOICE,
            "the index of a choice.* -1 for 2 choices",
        ),
        ([{"label": None}, {"label": 1.5}], VALUES, "finite numbers in 'label'.* None"),
        ([{"label": "Infinity"}], VALUES, "finite numbers in 'label'.* 'Infinity'"),
        ([{"label": "high"}], VALUES, "finite numbers in 'label'.* 'high'"),
        ([{"text": ["a", "b"], "label": [0, 2]}], TAGS, "tags of mine must be 0 to 1.* 0 to 2"),
        (
            [{"text": ["a", "b"], "label": [0]}],
            TAGS,
            "one tag for each word.* 1 tags for the 2 words a b",
        ),
        (
            [{"text": ["a"], "label": [0]}, {"text": ["a"], "label": None}],
            TAGS,
            "tag for each .* null",
        ),
        ([{"text": DOCUMENT, "label": [[0, 1]]}], MENTIONS, r"needs mentions .*\[\[0, 1\]\]"),
        ([{"text": DOCUMENT, "label": "0 1 1"}], MENTIONS, "needs mentions .* '?0 1 1"),
        (
            [{"text": DOCUMENT, "label": [[0, 2, 3]]}],
            MENTIONS,
            r"within one sentence.* \[0, 2, 3\] in a document of 5 words",
        ),
        ([{"text": DOCUMENT, "label": [[0, 4, 5]]}], MENTIONS, r"\[0, 4, 5\] in a document of 5"),
        ([{"text": DOCUMENT, "label": [[-1, 0, 0]]}], MENTIONS, r"from 0.*\[-1, 0, 0\]"),
        ([{"text": DOCUMENT, "label": [[0, 1, 0]]}], MENTIONS, r"has \[0, 1, 0\]"),
        (
            [{"text": DOCUMENT, "label": [[0, 1, 1], [2, 1, 1]]}],
            MENTIONS,
            r"two of the same words among \[\[0, 1, 1\], \[1, 1, 1\]\]",
        ),
        ([{"text": DOCUMENT, "label": [[0, 0.7, 1.9]]}], MENTIONS, r"whole numbers.*0\.7"),
        ([{"text": [["a"], ["b"]], "label": []}], MENTIONS, "sentences, each a text, in 'text'"),
        ([{"text": "a b .", "label": []}], MENTIONS, "list of sentences.*row 1 .* has a b"),
        ([{"text": [None], "label": []}], MENTIONS, r"list of sentences.*row 1 .*\[None\]"),
        ([{"text": ["a", 1], "label": [0, 0]}], TAGS, "list of words in 'text'.* row 1"),
        ([{"text": [], "label": []}], MENTIONS, "sentences in every document.* 'text'"),
        (
            [{"query": q, "document": d, "label": 1} for q, d in ("qd", "pd", "qe", "qd")],
            RANKED,
            "one row for each document of a query.* two of 'q' with 'd'",
        ),
        (
            [{"topic": "t", "text": q, "document": d, "label": 1} for q, d in ("qd", "pe")],
            RANKED | {"group_field": "topic"},
            "one query for each value of 'topic'.* 'q' and 'p' for 't'",
        ),
        (
            [{"label": 0.5}],
            {"kind": "classification", "labels": ("no", "yes")},
            "labels of mine must be whole numbers, but one is 0.5",
        ),
    ],
)
def test_labels_that_nothing_can_be(
    tmp_path: Path, rows: list[dict[str, Any]], fields: dict[str, Any], message: str
) -> None:
    task = json_task(tmp_path, rows, **fields)
    for split in ("train", VALIDATION):
        with pytest.raises(ValueError, match=message) as caught:
            load_examples(task, split)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("label", [-1, None])
@pytest.mark.parametrize(
    "fields", [CHOICE, {"kind": "classification", "labels": ("no", "yes")}], ids=lambda f: f["kind"]
)
def test_only_train_may_not_hide_its_labels(
    tmp_path: Path, fields: dict[str, Any], label: int | None
) -> None:
    rows = [{"label": label, "choices": ["b", "c"]}] * 2
    task = json_task(tmp_path, rows, **fields)
    assert load_examples(task, VALIDATION).hidden
    with pytest.raises(ValueError, match=r"mine needs labels to train on.* train has hidden"):
        load_examples(task, "train")


def test_mentions_have_no_labels(tmp_path: Path, own: dict[str, Any]) -> None:
    reviews_of(own).update(
        MENTIONS, metrics=["coref_f1"], data=own["evaluate"]["suite"]["tasks"][2]["data"]
    )
    assert "but 'reviews' is coreference; leave it out" in problem(write(tmp_path, own))


def test_an_empty_split_is_one_line(tmp_path: Path) -> None:
    classes = {"kind": "classification", "labels": ("no", "yes")}
    split = Split(name="loud", of="validation", where={"label": "yes"})
    with pytest.raises(ValueError, match="but its split loud has none with label yes"):
        load_examples(json_task(tmp_path, [{"label": "no"}], **classes), split)
    task = json_task(tmp_path, [{"label": -1}], prepare="drop_unlabelled", **classes)
    with pytest.raises(ValueError, match=r"mine needs examples, but its split train has none$"):
        load_examples(task, "train")


@pytest.mark.parametrize("names", [("None", "NA"), ("null", "nan"), ("true", "false")])
def test_names_of_classes_in_a_csv_stay_names(tmp_path: Path, names: tuple[str, str]) -> None:
    text = "text,label\n" + "".join(f"a,{name}\n" for name in names)
    task = file_task(tmp_path, "csv", text, kind="classification", labels=names)
    assert load_examples(task, "train").labels.tolist() == [0, 1]


def test_senteval_s_split_of_sick_r_is_a_task(tmp_path: Path) -> None:
    """As in docs/tasks.md; the columns are those of SemEval 2014."""
    page = (ROOT / "docs" / "tasks.md").read_text()
    suite = textwrap.dedent(page[page.index("    evaluate:\n      suite:\n        name: sickr") :])
    suite = suite[: suite.index("pearson]") + len("pearson]")]
    rows = [
        ("pair_ID", "sentence_A", "sentence_B", "relatedness_score", "entailment_judgment"),
        ("1", "A dog runs", "A cat sleeps", "1.5", "NEUTRAL"),
        ("2", "A dog runs", "A dog is running", "4.9", "ENTAILMENT"),
    ]
    file = tmp_path / "SICK_test_annotated.txt"
    file.write_text("".join("\t".join(row) + "\n" for row in rows))
    (spec,) = yaml.safe_load(suite)["evaluate"]["suite"]["tasks"]
    spec["data"]["files"]["test"] = str(file)
    (task,) = Evaluate.model_validate({"suite": {"name": "x-v1", "tasks": [spec]}}).chosen.values()
    found = load_examples(task, task.evaluation[0])
    assert found.texts == [("A dog runs", "A cat sleeps"), ("A dog runs", "A dog is running")]
    assert found.labels.tolist() == [1.5, 4.9]


@pytest.mark.parametrize("name", ["rows[1]", "rows*", "[new] rows"])
def test_a_path_is_no_pattern(tmp_path: Path, name: str) -> None:
    for other in (name, "rows1", "rows2"):
        folder = tmp_path / other
        folder.mkdir()
        (folder / f"{other}.jsonl").write_text(json.dumps({"text": other}) + "\n")
    assert hub.load_file("jsonl", tmp_path / name / f"{name}.jsonl")[:] == {"text": [name]}


def test_cells_of_rows_longer_than_the_head_are_not_shifted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Texts with commas and without quotes, which pandas takes for an index of the rows."""
    path = tmp_path / "long.csv"
    path.write_text("text,label\nfine, really,good\nbad, really,bad\n")
    with pytest.raises(ValueError, match="a row has more cells than the head; quote the cells"):
        hub.load_file("csv", path)
    path.write_text("text,label\nfine,good,\nawful,bad,\n")
    rows = {"text": ["fine", "awful"], "label": ["good", "bad"]}
    with catch_warnings(action="error"):
        assert hub.load_file("csv", path)[:] == first_rows(path, "csv", 2) == rows
    path.write_text("text,label\nfine,good\nbad, really,bad\n")
    with pytest.raises(ValueError, match="Expected 2 fields in line 3, saw 3"):
        hub.load_file("csv", path)
    assert not caplog.records  # the error says it all


@pytest.mark.parametrize(
    "line", ['{"a":' * 100_000, '{"text": ' + "[" * 50_000 + "]" * 50_000 + "}"]
)
def test_a_deeply_nested_line_is_refused(line: str, tmp_path: Path) -> None:
    path = tmp_path / "deep.jsonl"
    path.write_text(line + "\n")
    for read in (lambda: header(path, "jsonl"), lambda: first_rows(path, "jsonl", 5)):
        with pytest.raises(ValueError, match="values are nested too deeply"):
            read()
    with pytest.raises(ValueError, match="cannot be read as jsonl: line 1: values are nested too"):
        hub.load_file("jsonl", path)  # pyarrow's parser ends the process


@pytest.mark.parametrize("name", ["data.jsonl", "data.csv", "data.parquet"])
def test_an_empty_file_is_refused(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own" / "set").mkdir(parents=True)
    path = tmp_path / "own" / "set" / name
    path.touch()
    with pytest.raises(ValueError, match=r"cannot be read as \w+: \w"):
        hub.load_file(path.suffix[1:], path)
    monkeypatch.setenv("HARNESS_DATA", str(tmp_path))
    with pytest.raises(ValueError, match=r"own/set .* cannot be read from .*: \w"):
        hub.load("own/set", None, "train", None)


def test_local_files_are_read_without_the_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`datasets` counts uses of its readers on the Hub, and waits 5 s where it is out of reach."""
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(
        "datasets.load.get_session", lambda *_: pytest.fail("a request"), raising=False
    )
    path = tmp_path / "a.csv"
    path.write_text("text,label\nfine,good\n")
    assert hub.load_file("csv", path)["text"] == ["fine"]
    assert not datasets.config.HF_UPDATE_DOWNLOAD_COUNTS


def test_a_broken_file_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text('{"a": 1}\n{"a": \n')
    with pytest.raises(ValueError, match="cannot be read as jsonl") as caught:
        hub.load_file("jsonl", path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("damage", ["cut off", "changed"])
def test_a_damaged_compressed_file_is_one_line(tmp_path: Path, damage: str) -> None:
    path = tmp_path / f"{damage}.jsonl.gz"
    whole = gzip.compress(b'{"a": 1}\n', mtime=0)
    path.write_bytes(whole[:-8] if damage == "cut off" else whole[:10] + b"\xff" * 20)
    with pytest.raises(ValueError, match=r"jsonl\.gz cannot be read as jsonl: [^\n]+\Z"):
        hub.load_file("jsonl", path)


@pytest.mark.parametrize(
    ("metric", "tag", "is_refused"),
    [
        ("entity_f1", "ORG", True),  # seqeval reads an O
        ("entity_f1", "o", True),
        ("entity_f1", "B-", True),
        ("entity_f1", "S-ORG", False),
        ("entity_f1_strict", "S-ORG", True),  # is no IOB2
        ("entity_f1_strict", "B-ORG", False),
        ("argument_f1", "A0", True),
        ("coref_f1", "3", True),
        ("accuracy_tags", "ORG", False),
    ],
)
def test_metrics_of_spans_need_tags_of_spans(
    metric: str, tag: str, is_refused: bool, tmp_path: Path
) -> None:
    task = file_task(tmp_path, "jsonl", "", kind="tagging", labels=("O", tag), metrics=(metric,))
    fields = task.model_dump(mode="json")
    suite = {"name": "tags-v1", "tasks": [fields]}
    if not is_refused:
        assert CustomSuite.model_validate(suite).tasks == (task,)
        return
    with pytest.raises(ValidationError, match=rf"the metric {metric} .* but labels has '{tag}'"):
        CustomSuite.model_validate(suite)


@pytest.mark.parametrize("split", [{"name": "train"}, {"name": "dev", "of": "train"}])
@pytest.mark.parametrize("source", ["jsonl", "hub"])
def test_the_train_split_is_not_scored(source: str, split: dict[str, Any], tmp_path: Path) -> None:
    labels: dict[str, Any] = {"kind": "classification", "labels": ("bad", "good")}
    fields = file_task(tmp_path, "jsonl", "", **labels).model_dump(mode="json")
    if source == "hub":
        fields["data"] = {"source": "hub", "path": "mine/reviews", "config": "food"}
    fields["evaluation"] = [split]
    suite = {"name": "own-v1", "tasks": [fields]}
    with pytest.raises(ValidationError, match="must be scored on examples that it is not trained"):
        CustomSuite.model_validate(suite)
    fields["evaluation"] = [split | {"of": "validation"}]
    assert CustomSuite.model_validate(suite)
    if source == "hub":  # of other reviews
        fields["evaluation"] = [split | {"config": "films"}]
        assert CustomSuite.model_validate(suite)


@pytest.mark.parametrize("damage", ["cut off", "changed"])
def test_the_head_of_a_damaged_file_is_one_line(tmp_path: Path, damage: str) -> None:
    path = tmp_path / f"{damage}.csv.gz"
    whole = gzip.compress(b"text,label\nfine,good\n" * 9, mtime=0)
    path.write_bytes(whole[:-8] if damage == "cut off" else whole[:10] + b"\xff" * 20)
    for read in (lambda: header(path, "csv"), lambda: first_rows(path, "csv", 5)):
        with pytest.raises(ValueError, match=r"csv\.gz must be csv in UTF-8, but: [^\n]+\Z"):
            read()


def test_a_column_has_the_type_of_all_its_cells(tmp_path: Path) -> None:
    """Not that of the first 10,000 rows, in which scores may be whole numbers, and notes absent."""
    path, most = tmp_path / "long.csv", 11_000
    rows = [f"a text,{row % 5},,{row}\n" for row in range(most)]
    path.write_text("text,score,note,code\n" + "".join(rows) + "a text,2.5,odd,007\na text,1,,x\n")
    found = hub.load_file("csv", path)[most - 1 :]
    assert found["score"] == [(most - 1) % 5, 2.5, 1.0] and found["note"] == [None, "odd", None]
    assert found["code"] == [str(most - 1), "007", "x"]


def test_a_number_that_no_column_can_hold_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "large.csv"
    path.write_text(f"text,id\nfine,{10**30}\n")
    with pytest.raises(ValueError, match=r"cannot be read as csv: [^\n]+\Z"):
        hub.load_file("csv", path)


def test_metrics_of_a_kind_are_metrics() -> None:
    for names in (*METRICS_OF_KIND.values(), *GROUPED.values()):
        assert set(names) <= set(METRICS)
    grouped = {name for names in GROUPED.values() for name in names}
    assert grouped == {name for name, metric in METRICS.items() if metric.grouped}
