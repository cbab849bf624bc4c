"""The throughput benchmark runs and writes its figures."""

import importlib.util
import json
import sys
from pathlib import Path

import pytest

from tests.paths import ROOT

SCRIPT = ROOT / "benchmarks" / "pretraining_throughput.py"


@pytest.mark.filterwarnings("ignore")  # what transformers' Trainer warns of is not ours to mend
def test_benchmark_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    specification = importlib.util.spec_from_file_location("pretraining_throughput", SCRIPT)
    assert specification is not None
    assert specification.loader is not None
    benchmark = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(benchmark)
    monkeypatch.setattr(benchmark, "VOCAB_SIZE", 500)
    small = "--size nano --batch-size 2 --sequence-length 16 --steps 2 --repeats 1".split()
    monkeypatch.setattr(sys, "argv", [str(SCRIPT), *small, "--out", str(tmp_path / "a.json")])
    benchmark.main()
    figures = json.loads((tmp_path / "a.json").read_text())
    assert set(figures["tokens_per_second"]) == {"trainer", "bare", "harness"}
    assert all(rate > 0 for rate in figures["tokens_per_second"].values())
    assert "| harness |" in (tmp_path / "a.md").read_text()
