"""Files that are there whole or not at all, whatever is killed when; folders to write them to."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import rmtree

from filelock import FileLock


def write_atomically(path: Path, text: str) -> None:
    """Writes `text` under a temporary name, then renames it."""
    with atomic_path(path) as draft:
        draft.write_text(text, encoding="utf-8")


@contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """Gives another name to write to, which becomes `path` at the end, and vanishes on an error."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        yield draft
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


DRAFT = ".harness-draft"
"""A folder within a folder that is being written; where there is one, the writing was killed."""


@contextmanager
def atomic_folder(folder: Path) -> Iterator[Path]:
    """Gives an empty folder within `folder`, which is made if it is not there; at the end the files
    in it move to their places in `folder`. On an error they vanish, and `folder` if it is new."""
    draft, new = folder / DRAFT, not folder.exists()
    rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    try:
        yield draft
        for path in relative_files(draft):
            place = folder / path
            place.parent.mkdir(parents=True, exist_ok=True)
            (draft / path).replace(place)
    finally:
        rmtree(draft)
        if new and not any(folder.iterdir()):
            folder.rmdir()


def relative_files(folder: Path) -> list[Path]:
    """Every file below a folder, relative to it, in order."""
    return sorted(path.relative_to(folder) for path in folder.rglob("*") if not path.is_dir())


def output_folder(path: Path) -> Path:
    """`path`, if it can become or is a folder that files can be written to.

    Raises:
        ValueError: it cannot; to be asked before anything is computed for it.
    """
    nearest = next(one for one in (path, *path.absolute().parents) if os.path.lexists(one))
    if not nearest.is_dir():
        why = "is a file" if nearest == path else f"{nearest} is a file"
    elif not os.access(nearest, os.W_OK | os.X_OK):
        why = "cannot be written" if nearest == path else f"{nearest} cannot be written"
    else:
        return path
    raise ValueError(f"{path} must be a new or an existing folder that can be written, but {why}")


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
