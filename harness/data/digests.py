"""Digests of files, and the check that data are still those of a fingerprint."""

import functools
import hashlib
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

CLOCK_TICK = 2 * 10**9
"""Nanoseconds within which two writes of a file may have the same time, on any file system."""


class DataChangedError(ValueError):
    """Data are not those of the plan."""


def digest(files: Iterable[Path]) -> str:
    """SHA-256 of the contents of `files` in the given order, independent of their names and
    folders."""
    total = hashlib.sha256()
    for file in files:
        total.update(file_digest(file))
    return f"sha256:{total.hexdigest()}"


def file_digest(file: Path) -> bytes:
    """SHA-256 of a file, read again only if the file may have changed. Its change time, unlike its
    modification time, cannot be set back."""
    state = file.stat()
    if time.time_ns() - state.st_ctime_ns < CLOCK_TICK:
        return _sha256(file)
    return _kept_sha256(file, state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns)


def _sha256(file: Path) -> bytes:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").digest()


@functools.cache
def _kept_sha256(file: Path, *state: int) -> bytes:
    """SHA-256 of a file; its state is a key of the cache only."""
    return _sha256(file)


@contextmanager
def unchanged(data: str, planned: object, fingerprint: Callable[[], object]) -> Iterator[None]:
    """A context for reading data whose fingerprint is in a stage key, checked before and after.

    Args:
        data: what is read, for the message.
        planned: the fingerprint when the plan was made.
        fingerprint: returns that of the present content.

    Raises:
        DataChangedError: the content is another.
    """
    check_unchanged(data, planned, fingerprint())
    yield
    check_unchanged(data, planned, fingerprint())


def check_unchanged(data: str, planned: object, found: object) -> None:
    """Compares fingerprints; for the arguments, see `unchanged`.

    Args:
        found: the fingerprint of the present content.

    Raises:
        DataChangedError: they differ.
    """
    if found != planned:
        raise DataChangedError(
            f"{data} must be as they were when the plan was made, but have changed; run again, "
            "which makes a new plan (in Python, load the study again)"
        )
