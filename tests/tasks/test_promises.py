"""A new task, suite or metric works once it is in the dicts that CONTRIBUTING names."""

import json
import pkgutil
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from harness.data import hub
from harness.experiment.evaluation import Evaluate
from harness.experiment.registries import details, rows
from harness.tasks import SUITES, TASKS, benchmarks, micro
from harness.tasks.custom import METRICS_OF_KIND, CustomSuite, as_suite, tasks_of
from harness.tasks.datasets.catalog import data_sets
from harness.tasks.load_examples import fingerprint, load_examples
from harness.tasks.metrics import METRICS
from harness.tasks.metrics.metric import Array, Groups, Names, mean_metric
from harness.tasks.scores import counts, predictions_frame, score
from harness.tasks.task import HubData, Suite, Task, main_columns

TOY_TASK = Task(
    name="toy",
    kind="classification",
    data=HubData(path="toys/reviews"),
    text_fields=("text",),
    labels=("bad", "good"),
    metrics=("accuracy", "macro_f1"),
    chance=0.5,
)


def modules(package: ModuleType) -> Iterator[ModuleType]:
    for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        yield import_module(module.name)


@pytest.mark.parametrize("package", [benchmarks, micro], ids=["benchmarks", "micro"])
def test_values_of_a_benchmark_file_are_listed(package: ModuleType) -> None:
    """A value in one of the files cannot be forgotten in the package's lists."""
    for module in modules(package):
        for name, value in vars(module).items():
            if isinstance(value, Suite):
                assert SUITES[value.name] is value, name
            for task in value if name.endswith("_TASKS") and isinstance(value, tuple) else ():
                assert TASKS[task.name] is task, name


def test_a_task_is_one_value(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(hub.MIRROR, str(tmp_path))
    folder = tmp_path / "toys/reviews"
    folder.mkdir(parents=True)
    for split, size in (("train", 6), ("validation", 4)):
        lines = [{"text": f"{split} {row}", "label": row % 2} for row in range(size)]
        (folder / f"{split}.jsonl").write_text("\n".join(map(json.dumps, lines)))
    monkeypatch.setitem(TASKS, "toy", TOY_TASK)

    assert "toy" in {row["name"] for row in rows("tasks")} and "toys/reviews" in details(
        "tasks", "toy"
    )
    assert ("toys/reviews", ("toy",)) in [(one.path, one.users) for one in data_sets()]
    assert fingerprint(TOY_TASK).startswith("sha256:")
    assert len(load_examples(TOY_TASK, "train")) == 6
    examples = load_examples(TOY_TASK, TOY_TASK.evaluation[0])
    predictions = np.array([0, 1, 1, 1])
    assert score(TOY_TASK, examples, predictions)["accuracy"] == 0.75
    assert counts(TOY_TASK, examples, predictions)["accuracy"].sum(axis=0).tolist() == [3, 4]
    assert len(predictions_frame("validation", examples, predictions)) == 4
    suite = as_suite(CustomSuite(name="toys-v1", tasks=("toy",)))
    assert tasks_of(suite) == {"toy": TOY_TASK}


def test_a_suite_is_one_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TASKS, "toy", TOY_TASK)
    suite = Suite(name="toys-v1", columns=main_columns([TOY_TASK]), citation="none")
    monkeypatch.setitem(SUITES, "toys-v1", suite)
    assert suite.tasks == ("toy",)
    assert "toys-v1" in {row["name"] for row in rows("suites")}
    assert Evaluate.read({"suite": "toys-v1"}).chosen == {"toy": TOY_TASK}


def within_one(labels: Array, predictions: Array, groups: Groups, names: Names) -> Array:
    """[num_examples]: whether the prediction is at most 1 away from the label."""
    return np.abs(labels - predictions) <= 1


def test_a_metric_is_one_value_and_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    metric = mean_metric("within_one", within_one, "share of errors up to 1")
    monkeypatch.setitem(METRICS, "within_one", metric)
    known = METRICS_OF_KIND["regression"]
    monkeypatch.setitem(METRICS_OF_KIND, "regression", (*known, "within_one"))

    file = tmp_path / "stars.jsonl"
    file.write_text("".join(f'{{"text": "review {row}", "label": {row}}}\n' for row in range(4)))
    task = {
        "name": "stars",
        "kind": "regression",
        "data": {"source": "jsonl", "files": {"train": str(file), "validation": str(file)}},
        "text_fields": ["text"],
        "metrics": ["within_one", "pearson"],
    }
    suite = as_suite(CustomSuite.read({"name": "stars-v1", "tasks": [task]}))
    assert suite.columns[0].metrics == ("within_one",)
    stars = tasks_of(suite)["stars"]
    examples = load_examples(stars, stars.evaluation[0])
    predictions = np.array([0.5, 0.0, 3.5, 3.0])
    assert score(stars, examples, predictions)["within_one"] == 0.75
    found = counts(stars, examples, predictions)["within_one"]
    assert metric.from_counts(found.sum(axis=0)) == 0.75
