"""What finished stages left is read, or named as damaged or missing."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from harness import load
from harness.analysis.results import Results, stage_counts
from harness.store.store import StageResult, Store
from harness.tasks.scores import save_counts


def recorded(store: Store, files: Path) -> StageResult:
    return store.record("k", "finetune", "x", {}, {}, files)


def test_counts_are_read_from_the_files_of_a_stage(tmp_path: Path) -> None:
    counts: dict[str, Any] = {"accuracy": np.ones((3, 2)), "labels": np.zeros(32, dtype=np.uint8)}
    (tmp_path / "out").mkdir()
    save_counts(tmp_path / "out" / "counts.npz", {"validation": counts})
    predictions = pd.DataFrame({"split": "validation", "group": ["b", "b", "a"]})
    predictions.to_parquet(tmp_path / "out" / "predictions.parquet")
    store = Store(tmp_path / "runs")
    stage = recorded(store, tmp_path / "out")
    found = stage_counts(store, stage)
    assert found.keys() == {"validation/accuracy", "validation/labels", "validation/groups"}
    assert np.array_equal(found["validation/accuracy"], counts["accuracy"])
    assert found["validation/groups"].tolist() == [1, 1, 0]
    folder = store.fetch(stage)
    assert folder is not None
    (folder / "counts.npz").write_bytes(b"damaged")
    with pytest.raises(ValueError, match="stage k are damaged"):
        stage_counts(store, stage)


def test_counts_that_an_earlier_version_did_not_leave_are_one_line(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "predictions.parquet").touch()
    store = Store(tmp_path / "runs")
    stage = recorded(store, tmp_path / "out")
    with pytest.raises(ValueError, match="stage k is of an earlier version, which left no counts"):
        stage_counts(store, stage)


def test_a_frame_is_made_once_for_each_results(tmp_path: Path) -> None:
    file = tmp_path / "x.yaml"
    file.write_text("{name: x, question: which, pretrain: {size: nano, budget: {steps: 2}}}")
    study = load(file, store=tmp_path / "runs")
    made: list[Results] = []

    def count(results: Results) -> int:
        made.append(results)
        return len(made)

    results = study.results
    assert results.get(count) == results.get(count) == 1
    assert study.results.get(count) == 2
