"""What the fuzzers do not allow while they read an input: to write elsewhere, and to hang."""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

HANG_SECONDS = 10.0
"""After which an input hangs."""
_WATCHED: list[Path] = []
"""Folders that files may be written to; empty while nothing is watched."""
_RELATIVE = {
    "os.mkdir": 0,
    "os.remove": 0,
    "os.rmdir": 0,
    "os.rename": 1,
    "os.link": 1,
    "os.symlink": 1,
}
"""Audit event to the position of the path that it changes; the last argument is the folder that the
path is relative to, or -1."""


class Hang(BaseException):
    """An input took too long. No `except Exception` on the way catches it."""


class WroteElsewhere(BaseException):
    """An input led to a change outside the watched folders."""


def _watch(event: str, arguments: tuple[Any, ...]) -> None:
    """Audit hook: refuses changes outside the watched folders."""
    path = _changed(event, arguments) if _WATCHED else None
    if path and not any(folder in (path, *path.parents) for folder in _WATCHED):
        raise WroteElsewhere(f"{event} of {path}, outside {_WATCHED[0]}")


def _changed(event: str, arguments: tuple[Any, ...]) -> Path | None:
    """The path that an audit event changes; null if none, a device or what Python compiles."""
    if event in _RELATIVE:
        given, base = arguments[_RELATIVE[event]], arguments[-1]
        path = Path("" if base < 0 else f"/proc/self/fd/{base}") / os.fsdecode(given)
        path = path.parent.resolve() / path.name  # of a link, the link itself
    elif event in ("open", "sqlite3.connect") and isinstance(arguments[0], str | bytes | Path):
        if event == "open" and not (arguments[2] or 0) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            return None
        path = Path(os.path.realpath(os.fsdecode(arguments[0])))
    else:
        return None
    ignored = path.parts[1:2] in (("dev",), ("proc",)) or "__pycache__" in path.parts
    return None if ignored else path


@contextmanager
def writing_only_to(*folders: Path) -> Iterator[None]:
    """Within it, files that Python opens for writing, makes, moves or removes lie in `folders`.

    Raises:
        WroteElsewhere: one does not.
    """
    if not getattr(_watch, "is_added", False):
        sys.addaudithook(_watch)  # cannot be removed
        _watch.is_added = True  # type: ignore[attr-defined]  # a mark on the function
    _WATCHED[:] = [Path(os.path.realpath(folder)) for folder in folders]
    try:
        yield
    finally:
        _WATCHED.clear()


@contextmanager
def within_seconds(seconds: float = HANG_SECONDS) -> Iterator[None]:
    """A context that ends after so many seconds at most; for the main thread.

    Raises:
        Hang: it took longer.
    """

    def stop(number: int, frame: FrameType | None) -> None:
        raise Hang(f"took more than {seconds:g} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
