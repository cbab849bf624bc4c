"""Files that are there whole or not at all, whatever is killed when."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock


def write_atomically(path: Path, text: str) -> None:
    """Writes `text` under a temporary name, then renames it."""
    with whole(path) as draft:
        draft.write_text(text)


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """Gives another name to write to, which becomes `path` at the end, and vanishes on an error."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        yield draft
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def make_once(path: Path, make: Callable[[Path], object]) -> None:
    """Lets `make` write the file `path`, under another name until it is whole, if it is not there.

    Of several processes one makes it while the others wait.
    """
    if path.exists():
        return
    with FileLock(path.with_name(f"{path.name}.lock")):
        if not path.exists():
            draft = path.with_name(f"{path.name}.draft")
            draft.unlink(missing_ok=True)
            make(draft)
            draft.replace(path)
