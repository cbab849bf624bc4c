"""Evaluation results in the Hub's format, read back by huggingface_hub."""

from pathlib import Path

import pandas as pd
import pytest
import yaml
from huggingface_hub import parse_eval_result_entries

from harness.exchange.checkpoints.card_data import CardScores, MainScore
from harness.exchange.checkpoints.eval_results import FOLDER, write_eval_results
from harness.exchange.checkpoints.selection import _main_scores
from harness.tasks import TASKS
from harness.tasks.task import HubData


def scores(*main: MainScore) -> CardScores:
    return CardScores("nsp", "Does it help?", "glue-v1", (), "adaptation full", "Wang", main)


def test_the_hub_s_own_reader_reads_them(tmp_path: Path) -> None:
    task = TASKS["sst2"]
    assert isinstance(task.data, HubData)
    write_eval_results(scores(MainScore(task, 91.234, 3)), tmp_path)
    (path,) = (tmp_path / FOLDER).iterdir()
    assert path.name == "sst2.yaml"
    (entry,) = parse_eval_result_entries(yaml.safe_load(path.read_text()))
    assert (entry.dataset_id, entry.task_id) == (task.data.path, task.data.config)
    assert (entry.value, entry.dataset_revision) == (91.23, task.data.revision)
    assert entry.notes == (
        "accuracy x 100 on validation, mean over 3 fine-tuning runs; adaptation full"
    )


def test_tasks_without_a_data_set_on_the_hub_have_none(tmp_path: Path) -> None:
    write_eval_results(scores(MainScore(TASKS["micro-sst2"], 90.0, 1)), tmp_path)
    assert not (tmp_path / FOLDER).exists()


def test_only_defined_main_scores_count() -> None:
    columns = ["task", "split", "metric", "value"]
    rows = [
        ("sst2", "validation", "accuracy", 0.9),
        ("sst2", "validation", "accuracy", 0.8),
        ("stsb", "validation", TASKS["stsb"].metrics[0], float("nan")),
    ]
    tasks = {name: TASKS[name] for name in ("sst2", "stsb", "mrpc")}
    (found,) = _main_scores(pd.DataFrame(rows, columns=columns), tasks)
    assert (found.task.name, found.num_runs) == ("sst2", 2)
    assert found.value == pytest.approx(85)
