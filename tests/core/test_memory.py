"""Peak memory of the process."""

from pathlib import Path

import numpy as np
import pytest

from harness.core import memory
from harness.core.memory import peak_memory, reset_peak_memory

MIB = 2**20


def test_a_peak_is_seen_until_the_next_reset() -> None:
    reset_peak_memory()
    before = peak_memory()["peak_rss_bytes"]
    np.ones(256 * MIB, np.uint8).sum()
    assert peak_memory()["peak_rss_bytes"] > before + 200 * MIB
    reset_peak_memory()
    assert peak_memory()["peak_rss_bytes"] < before + 100 * MIB


def test_without_proc_the_peak_is_that_of_the_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "PROC", tmp_path / "none")
    reset_peak_memory()
    assert peak_memory()["peak_rss_bytes"] > 10 * MIB
