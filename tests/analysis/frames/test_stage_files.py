"""What fine-tuning stages left is read, or said to be missing."""

from pathlib import Path

import pytest

from harness.analysis.frames.stage_files import counts_reader
from harness.store.store import Store


def test_counts_that_an_earlier_version_did_not_leave_are_one_line(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "predictions.parquet").touch()
    store = Store(tmp_path / "runs")
    record = store.record("k", "finetune", "x", {}, {}, tmp_path / "out")
    with pytest.raises(ValueError, match="stage k is of an earlier version, which left no counts"):
        counts_reader({"k": record}, store)("k")
