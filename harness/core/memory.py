"""Memory of this process: how the C library keeps it, and the peaks of its resident set and of what
torch has allocated on its GPU."""

import ctypes
import gc
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

PROC = Path("/proc/self")
"""Linux's files about this process."""
TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3
"""Options of the GNU C library's mallopt (malloc.h)."""
LARGEST_KEPT = 2**30
"""Bytes from which a block still goes back to the system when it is freed."""
LARGEST_KEPT_BY_DEFAULT = 2**25
"""What the threshold of a process grows to by itself (mallopt(3), M_MMAP_THRESHOLD)."""


def keep_freed_memory() -> None:
    """Makes the GNU C library use freed memory again instead of giving it back to the system.

    By default it does so with blocks of 32 MiB and more, such as the logits of an update, which the
    system then has to fill with zeros, page by page, at each update: a quarter of the time of a
    tiny network with 30,522 tokens. Nothing happens with other C libraries.

    Blocks of changing sizes leave gaps, so that memory grows: `trim_freed_memory` now and then.
    """
    with suppress(OSError, AttributeError, TypeError):
        library = ctypes.CDLL(None)
        library.mallopt(MMAP_THRESHOLD, LARGEST_KEPT)
        library.mallopt(TRIM_THRESHOLD, -1)  # never


def give_back_freed_memory() -> None:
    """Ends `keep_freed_memory`."""
    with suppress(OSError, AttributeError, TypeError):
        library = ctypes.CDLL(None)
        library.mallopt(MMAP_THRESHOLD, LARGEST_KEPT_BY_DEFAULT)
        library.mallopt(TRIM_THRESHOLD, 2 * LARGEST_KEPT_BY_DEFAULT)
    trim_freed_memory()


def trim_freed_memory() -> None:
    """Gives freed memory back to the system once."""
    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


@contextmanager
def cycles_freed() -> Iterator[None]:
    """Frees what is made in the block and refers to itself, such as a trainer with its network and
    its open files, at the end of the block.

    Python would do so after a quarter of all objects are new ones, that is after some hundred
    trainers. Older objects are not looked at, which would take half a second.
    """
    gc.freeze()
    try:
        yield
    finally:
        gc.collect()
        gc.unfreeze()


def reset_peak_memory() -> None:
    """Begins a new measurement, after freed memory has gone back to the system. Without Linux's
    /proc, the resident set goes on to be measured from the start of the process."""
    trim_freed_memory()
    with suppress(OSError):
        (PROC / "clear_refs").write_text("5")
    if cuda := _used_cuda():
        cuda.reset_peak_memory_stats()


def peak_memory() -> dict[str, float]:
    """Bytes since `reset_peak_memory` by name: `peak_rss_bytes`, and of a process that has used a
    GPU `peak_gpu_memory_bytes`, without the caches of torch's allocator."""
    peaks = {"peak_rss_bytes": float(_peak_rss())}
    if cuda := _used_cuda():
        peaks["peak_gpu_memory_bytes"] = float(cuda.max_memory_allocated())
    return peaks


def _peak_rss() -> int:
    """Not `ru_maxrss` on Linux, which a new process inherits from the one that started it."""
    with suppress(OSError):
        if found := re.search(r"VmHWM:\s*(\d+) kB", (PROC / "status").read_text()):
            return 1024 * int(found[1])
    from resource import RUSAGE_SELF, getrusage  # not on Windows

    unit = 1 if sys.platform == "darwin" else 1024
    return unit * getrusage(RUSAGE_SELF).ru_maxrss


def _used_cuda() -> Any:
    """torch.cuda, if this process has used it."""
    torch = sys.modules.get("torch")
    return torch.cuda if torch and torch.cuda.is_initialized() else None
