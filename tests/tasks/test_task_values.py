"""Conformance of every task and suite: metadata that holds together."""

import pytest

from harness.tasks import SUITES, TASKS, HubData
from harness.tasks.metrics import METRICS

TABLE_1 = ["mnli_m", "mnli_mm", "qqp", "qnli", "sst2", "cola", "stsb", "mrpc", "rte"]


@pytest.mark.parametrize("name", TASKS)
def test_task(name: str) -> None:
    task = TASKS[name]
    assert task.name == name
    assert 1 <= len(task.text_fields) <= 2
    assert (len(task.labels) >= 2) is (task.kind == "classification")
    assert task.metrics and set(task.metrics) <= set(METRICS)
    assert task.train_size > 0 and task.licence and task.citation
    assert task.evaluation
    assert task.chance < (1.0 if task.ceiling is None else task.ceiling)
    if isinstance(task.data, HubData):
        assert len(task.data.revision) == 40


@pytest.mark.parametrize("name", SUITES)
def test_suite(name: str) -> None:
    suite = SUITES[name]
    assert suite.name == name and name.rpartition("-v")[2].isdigit()
    assert len(set(suite.tasks)) == len(suite.tasks)
    assert {column.task for column in suite.columns} == set(suite.tasks)
    assert len({column.name for column in suite.columns}) == len(suite.columns)
    for column in suite.columns:
        task = TASKS[column.task]
        assert set(column.metrics) <= set(task.metrics)
        assert column.split in {split.name for split in task.evaluation if split.config is None}


def test_glue_columns_follow_the_published_table() -> None:
    # Devlin et al. 2019, table 1; WNLI, which it leaves out, comes last
    assert [column.name for column in SUITES["glue-v1"].columns] == [*TABLE_1, "wnli"]


def test_glue_has_nine_tasks_and_the_diagnostic_set() -> None:
    assert len(SUITES["glue-v1"].tasks) == 9
    diagnostic = [split for split in TASKS["mnli"].evaluation if split.config == "ax"]
    assert [(split.name, split.optional) for split in diagnostic] == [("test", True)]
