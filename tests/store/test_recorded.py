"""Recorded experiments and imported scores, read back from a store."""

import json
from pathlib import Path

import pandas as pd
import pytest
import yaml

from harness.store.recorded import (
    SCORE_COLUMNS,
    RecordedExperiment,
    imported_scores,
    recorded_experiments,
    scores_of,
)
from harness.store.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "runs")


def test_experiments_are_sorted_and_have_scores_and_spec(store: Store, tmp_path: Path) -> None:
    for name in ("two", "one"):
        folder = tmp_path / name
        folder.mkdir()
        row = [name, "arm", "suite", "task", "validation", "accuracy", 0.5, 0, 1, "key"]
        pd.DataFrame([row], columns=SCORE_COLUMNS).to_parquet(folder / "results.parquet")
        (folder / "experiment.yaml").write_text(yaml.safe_dump({"experiment": {"name": name}}))
        store.record_experiment(name, "suite", folder)
    found = recorded_experiments(store)
    assert [one.name for one in found] == ["one", "two"]
    assert found[0].spec == {"experiment": {"name": "one"}}
    assert found[0].scores.to_dict("records") == [
        {
            "experiment": "one",
            "arm": "arm",
            "suite": "suite",
            "task": "task",
            "split": "validation",
            "metric": "accuracy",
            "value": 0.5,
            "pretrain_seed": 0,
            "finetune_seed": 1,
            "key": "key",
        }
    ]


def test_imports_are_one_table(store: Store, tmp_path: Path) -> None:
    assert imported_scores(store) is None
    for number in (1, 2):
        pd.DataFrame({"value": [number]}).to_parquet(tmp_path / "scores.parquet")
        folder = tmp_path / str(number)
        folder.mkdir()
        (tmp_path / "scores.parquet").rename(folder / "scores.parquet")
        store.record_import(f"{number}.parquet", folder)
    scores = imported_scores(store)
    assert scores is not None
    assert scores["value"].to_dict() == {0: 1, 1: 2}


def test_the_quick_spec_is_read_first(tmp_path: Path) -> None:
    (tmp_path / "experiment.yaml").write_text(yaml.safe_dump({"arms": {"a": 1e-5}}))
    assert RecordedExperiment("one", tmp_path).spec == {"arms": {"a": 1e-5}}
    (tmp_path / "experiment.json").write_text(json.dumps({"arms": {"b": None}}))
    assert RecordedExperiment("one", tmp_path).spec == {"arms": {"b": None}}


def test_scores_of_several_experiments_are_one_table(tmp_path: Path) -> None:
    frames = []
    for name, suites in {"one": ["s", "t"], "two": ["t", "u"]}.items():
        rows = [(name, "arm", suite, "a", "b", "c", 0.25, 0, 1, "key") for suite in suites]
        frames.append(pd.DataFrame(rows, columns=SCORE_COLUMNS))
        (tmp_path / name).mkdir()
        frames[-1].to_parquet(tmp_path / name / "results.parquet", index=False)
    found = [RecordedExperiment(name, tmp_path / name) for name in ("one", "two")]
    pd.testing.assert_frame_equal(scores_of(found), pd.concat(frames, ignore_index=True))
    assert scores_of(found, "t")["experiment"].to_list() == ["one", "two"]
    assert list(scores_of([])) == SCORE_COLUMNS
