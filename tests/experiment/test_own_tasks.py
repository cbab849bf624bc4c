"""Tasks of one's own as a mapping of names in `evaluate.tasks`."""

import shutil
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml
from typer.testing import CliRunner

import harness
from harness.cli.app import app
from harness.experiment.declaration import Declaration, from_data, load
from harness.experiment.source import DeclarationError
from harness.plan.factory import load_plan, make_plan
from harness.study import Study
from harness.tasks import file_checks
from harness.tasks.task import Task

BASE: dict[str, Any] = {
    "name": "own",
    "question": "Does a task need more than its data?",
    "pretrain": {"recipe": "bert", "size": "nano", "corpus": "microworld", "budget": {"steps": 9}},
}
ROWS = pd.DataFrame(
    {
        "id": range(60),
        "text": [f"meal number {row}" for row in range(60)],
        "label": ["good", "bad"] * 30,
    }
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    ROWS.to_csv(tmp_path / "train.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def experiment(tasks: Any, **evaluate: Any) -> dict[str, Any]:
    return {**BASE, "evaluate": {"tasks": tasks, **evaluate}}


def saved(content: dict[str, Any], name: str = "own.yaml") -> Path:
    Path(name).write_text(yaml.safe_dump(content, sort_keys=False))
    return Path(name)


def problems(declare: Any, *args: Any) -> list[str]:
    with pytest.raises(DeclarationError) as caught:
        declare(*args)
    return list(caught.value.problems)


def own_task(declaration: Declaration, name: str = "reviews") -> Task:
    return declaration.experiment.evaluate.chosen[name]


def test_the_data_alone_equal_the_whole_declaration() -> None:
    """Stage keys and the name of the suite are those of the explicit fields."""
    short = load_plan(saved(experiment({"reviews": {"data": "train.csv"}})))
    fields = {
        "name": "reviews",
        "kind": "classification",
        "data": {"source": "csv", "files": {"train": "train.csv"}, "holdout_fraction": 0.2},
        "text_fields": ["text"],
        "label_field": "label",
        "labels": ["bad", "good"],
        "metrics": ["accuracy", "macro_f1"],
    }
    suite = {"name": "reviews-v1", "tasks": [fields]}
    whole = load_plan(saved({**BASE, "evaluate": {"suite": suite}}))
    assert list(short.stages) == list(whole.stages)
    again = {"name": "reviews-v1", "tasks": [{"name": "reviews", "data": "train.csv"}]}
    listed = load_plan(saved({**BASE, "evaluate": {"suite": again}}))
    assert list(listed.stages) == list(whole.stages)


def test_the_suite_is_named_for_its_tasks_and_their_content(folder: Path) -> None:
    def suite(path: str = "train.csv", **fields: Any) -> str:
        tasks = {"reviews": {"data": path, **fields}, "micro-sst2": None}
        evaluate = from_data(experiment(tasks)).experiment.evaluate
        assert evaluate.suite_value.tasks == ("reviews", "micro-sst2") == tuple(evaluate.chosen)
        return evaluate.suite_value.name

    name = suite()
    assert name.startswith("reviews-micro-sst2-")
    (folder / "copy.csv").write_bytes((folder / "train.csv").read_bytes())
    assert suite("copy.csv") == name
    assert suite(metrics=["macro_f1"]) != name
    ROWS.head(58).to_csv("train.csv", index=False)
    assert suite() != name


def test_a_base_gives_way_and_overrides_apply() -> None:
    saved({**BASE, "evaluate": {"suite": "micro-glue-v1"}}, "base.yaml")
    path = saved(
        {"extends": "base.yaml", "name": "x", "evaluate": {"tasks": {"reviews": {"data": "t.csv"}}}}
    )
    overrides = ["evaluate.tasks.reviews.data=train.csv", "evaluate.tasks.reviews.metrics=[f1]"]
    assert own_task(load(path, overrides)).metrics == ("f1",)


@pytest.mark.parametrize(
    ("tasks", "line", "message"),
    [
        ({"reviews": {"data": "no.csv"}}, 12, "evaluate.tasks.reviews: needs the file no.csv, but"),
        (
            {"reviews": {"data": "train.csv", "text_fields": ["body"]}},
            14,
            "evaluate.tasks.reviews: needs the column 'body', but train has id, text, label",
        ),
        (
            {"micro-sst2": None, "reviews": {"data": "train.csv", "metrics": ["acuracy"]}},
            15,
            "evaluate.tasks.reviews: for classification without groups the metric 'acuracy' is not",
        ),
        (
            {"reviews": {"data": "train.csv", "symetric": True}},
            13,
            "evaluate.tasks.reviews: the field 'symetric' is not known; did you mean 'symmetric'?",
        ),
        ({"reviews": "train.csv"}, 11, "evaluate.tasks.reviews must be a mapping of fields, such"),
        (
            {"nothing": None},
            11,
            "evaluate.tasks.nothing needs its data, such as {data: train.csv}, as no",
        ),
        ({}, 10, "evaluate.tasks must have at least one task, but has none"),
    ],
)
def test_problems_have_the_users_path_and_line(tasks: Any, line: int, message: str) -> None:
    (problem,) = problems(load_plan, saved(experiment(tasks)))
    place, _, text = problem.partition(": ")
    assert text.startswith(message)
    assert place == f"own.yaml:{line}"


def test_a_suite_beside_the_mapping_is_a_problem() -> None:
    content = experiment({"reviews": {"data": "train.csv"}}, suite="glue-v1")
    (problem,) = problems(load, saved(content))
    assert problem.endswith("a mapping in tasks replaces suite; remove one of them")


def test_the_plan_shows_what_was_inferred() -> None:
    path = saved(experiment({"reviews": {"data": "train.csv"}}))
    shown = " ".join(CliRunner().invoke(app, ["plan", str(path)]).stdout.split())
    assert "reviews: classification, text -> label; 48 train (bad: 24, good: 24); 12 " in shown
    dev = "validation (20% of train.csv; bad: 6, good: 6)"
    assert f"{dev}; accuracy, macro_f1; not used: id" in shown
    path = saved(experiment({"reviews": {"data": "train.csv", "labels": ["bad", "fair"]}}))
    result = CliRunner().invoke(app, ["plan", str(path)])
    assert result.exit_code == 2
    assert "the labels of reviews must be bad, fair, but one is 'good'" in result.stderr


def test_a_data_frame_is_the_data(folder: Path) -> None:
    def declare(rows: pd.DataFrame) -> Study:
        return harness.declare(experiment({"reviews": {"data": rows}}), store=folder / "runs")

    study = declare(ROWS)
    task = own_task(study.declaration)
    assert (task.text_fields, task.labels, task.train_size) == (("text",), ("bad", "good"), 48)
    assert declare(ROWS.copy()).plan.stages.keys() == study.plan.stages.keys()
    assert declare(ROWS.head(58)).plan.stages.keys() != study.plan.stages.keys()
    assert len(list((folder / "runs" / "data").iterdir())) == 2
    assert make_plan(study.declaration).stages


@pytest.mark.parametrize(
    ("name", "separator", "message"),
    [
        ("a.csv", ";", "columns must be separated by commas, but the head has semicolons: 'id;"),
        ("a.csv", "\t", "columns must be separated by commas, but the head has tabs"),
        ("a.csv", "|", "columns must be separated by commas, but the head has vertical bars"),
        ("a.tsv", ",", "columns must be separated by tabs, but the head has commas"),
    ],
)
def test_another_separator_is_named(name: str, separator: str, message: str) -> None:
    ROWS.assign(text="a fine, cold meal; really").to_csv(name, index=False, sep=separator)
    (found,) = problems(load_plan, saved(experiment({"reviews": {"data": name}})))
    assert f"evaluate.tasks.reviews: {name} must be {name[2:]} in UTF-8" not in found
    assert f"evaluate.tasks.reviews: {name}: {message}" in found
    files = {"source": name[2:], "files": {"train": name}, "holdout_fraction": 0.2}
    whole = {"kind": "classification", "text_fields": ["text"], "metrics": ["accuracy"]}
    task = {**whole, "data": files, "labels": ["bad", "good"]}
    (found,) = problems(load_plan, saved(experiment({"reviews": task})))
    assert f"{name}: {message}" in found


@pytest.mark.parametrize("name", ["train.csv", "./train.csv", "copy.csv"])
def test_the_train_file_is_not_scored(folder: Path, name: str) -> None:
    shutil.copyfile("train.csv", "copy.csv")
    tasks = {"reviews": {"data": {"files": {"train": "train.csv", "validation": name}}}}
    (found,) = problems(load_plan, saved(experiment(tasks)))
    assert "reviews: must be scored on examples that it is not trained on" in found
    assert "the files of train and validation have the same content" in found


def test_a_train_file_of_one_class_is_found_while_planning(folder: Path) -> None:
    shutil.copyfile("train.csv", "dev.csv")
    ROWS.assign(label="bad").to_csv("train.csv", index=False)
    fields = {"kind": "classification", "text_fields": ["text"], "metrics": ["accuracy"]}
    files = {"source": "csv", "files": {"train": "train.csv", "validation": "dev.csv"}}
    task = {"reviews": {**fields, "data": files, "labels": ["bad", "good"]}}
    (found,) = problems(load_plan, saved(experiment(task)))
    assert found.startswith("own.yaml:")
    assert found.endswith("of two or more classes to train on, but its split train has only 'bad'")


def test_examples_are_read_while_planning_unless_files_are_large(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fields = {"kind": "classification", "text_fields": ["text"], "metrics": ["accuracy"]}
    files = {"source": "csv", "files": {"train": "train.csv"}, "holdout_fraction": 0.2}
    task = {"reviews": {**fields, "data": files, "labels": ["bad", "fine"]}}
    (found,) = problems(load_plan, saved(experiment(task)))
    assert found.endswith("the labels of reviews must be bad, fine, but one is 'good'")
    monkeypatch.setattr(file_checks, "MAX_READ_BYTES", 10)
    assert load_plan(Path("own.yaml")).stages


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"files": {"train": "train.csv"}, "holdout_fraction": "a"}, "must be between 0 and 1"),
        (
            {"files": {"train": "train.csv"}, "holdout_fraction": 0},
            "must be between 0 and 1",
        ),
        ("train.c" * 100 + ".csv", "but it does not exist"),
        ("~nobody-of-this-name/train.csv", "but it does not exist"),
    ],
)
def test_values_that_the_fuzzer_found(data: Any, message: str) -> None:
    found = problems(load_plan, saved(experiment({"reviews": {"data": data}})))
    assert any(message in problem for problem in found), found
