"""The throughput benchmark runs and writes its figures."""

import json
import sys
from pathlib import Path

import pytest

from benchmarks import pretraining_throughput


@pytest.mark.filterwarnings("ignore")  # warnings of transformers' Trainer are not ours to fix
def test_benchmark_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pretraining_throughput, "VOCAB_SIZE", 500)
    small = "--size nano --batch-size 2 --sequence-length 16 --steps 2 --repeats 1".split()
    monkeypatch.setattr(sys, "argv", ["", *small, "--out", str(tmp_path / "a.json")])
    pretraining_throughput.main()
    figures = json.loads((tmp_path / "a.json").read_text())
    assert set(figures["tokens_per_second"]) == {"trainer", "bare", "harness"}
    assert all(rate > 0 for rate in figures["tokens_per_second"].values())
    assert "| harness |" in (tmp_path / "a.md").read_text()
