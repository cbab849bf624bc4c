"""Peak memory of the process."""

import gc
import platform
import subprocess
import sys
import weakref
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from harness.core import memory
from harness.core.memory import cycles_freed, peak_memory, reset_peak_memory

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


def test_the_peak_of_a_gpu_is_that_of_what_was_allocated(monkeypatch: pytest.MonkeyPatch) -> None:
    reset: list[bool] = []
    cuda = SimpleNamespace(
        max_memory_allocated=lambda: 7 * MIB,
        memory_allocated=lambda: 5 * MIB,
        reset_peak_memory_stats=lambda: reset.append(True),
    )
    monkeypatch.setattr(memory, "_used_cuda", lambda: cuda)
    reset_peak_memory()
    assert reset and peak_memory()["peak_gpu_memory_bytes"] == 7 * MIB


def test_cycles_of_a_block_are_freed_and_older_objects_are_left() -> None:
    class Node:
        """Refers to itself."""

        def __init__(self) -> None:
            self.own = self

    gc.disable()
    try:
        older = weakref.ref(Node())
        with cycles_freed():
            newer = weakref.ref(Node())
            kept = Node()
            assert newer()
        assert newer() is None and older() and kept.own is kept
        with pytest.raises(KeyError), cycles_freed():
            raise KeyError
        gc.collect()
        assert older() is None and gc.get_freeze_count() == 0
    finally:
        gc.enable()


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="an option of the GNU C library")
def test_freed_memory_is_used_again_without_page_faults() -> None:
    program = """
import resource
import numpy as np
from harness.core.memory import keep_freed_memory

def page_faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(5):
        np.ones(96 * 2**20, np.uint8)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

default = page_faults()
keep_freed_memory()
page_faults()
assert page_faults() * 10 < default
"""
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="an option of the GNU C library")
def test_gaps_between_blocks_are_given_back() -> None:
    """A trim returns what blocks of changing sizes left between others that are still used."""
    program = """
import re
import numpy as np
from harness.core.memory import give_back_freed_memory, keep_freed_memory, trim_freed_memory

def resident():
    return int(re.search(r"VmRSS:\\s*(\\d+)", open("/proc/self/status").read())[1]) * 1024

def leave_gaps():
    large, small = [], []
    for _ in range(10):
        large.append(np.ones(40 * 2**20, np.uint8))
        small.append(np.ones(2**10, np.uint8))
    return small

for end in (trim_freed_memory, give_back_freed_memory):
    keep_freed_memory()
    before = resident()
    small = leave_gaps()
    assert resident() > before + 300 * 2**20
    end()
    assert resident() < before + 100 * 2**20
"""
    subprocess.run([sys.executable, "-c", program], check=True)
