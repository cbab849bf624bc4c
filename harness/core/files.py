"""Atomic writes of files and folders, safe against interruption."""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from shutil import copymode, rmtree

from filelock import FileLock


def write_atomically(path: Path, text: str) -> None:
    """Writes `text` to a temporary file, then renames it."""
    with atomic_path(path) as draft:
        draft.write_text(text, encoding="utf-8")


@contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """A context with a temporary path, renamed to `path` at the end or deleted on an error."""
    # Not the process id: processes of two containers that share the folder may have the same.
    draft = path.with_name(f".{path.name[:50]}.{token_hex(8)}")  # at most 217 of 255 bytes
    with _errors_of(draft, path):
        try:
            yield draft
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)


@contextmanager
def _errors_of(draft: Path, path: Path) -> Iterator[None]:
    """Errors of the system that name `draft`, or a file in it, name `path` instead."""
    try:
        yield
    except OSError as error:
        named = Path(error.filename) if isinstance(error.filename, str) else None
        if not named or not named.is_relative_to(draft):
            raise
        meant = str(path / named.relative_to(draft))
        raise OSError(error.errno, error.strerror, meant) from error


def usual_mode(file: Path) -> None:
    """Gives a file the permissions of new ones in its folder: safetensors 0.8 lets nobody but the
    owner read those that it writes."""
    sample = file.with_name(f".{token_hex(8)}")
    sample.touch()
    try:
        copymode(sample, file)
    finally:
        sample.unlink()


def user_path(text: str | Path) -> Path:
    """A path with the home folder of a user in place of `~`, if there is one."""
    try:
        return Path(text).expanduser()
    except RuntimeError:
        return Path(text)


def file_exists(path: Path) -> bool:
    """Whether there is such a file; also of a name that is too long for one."""
    try:
        return path.is_file()
    except OSError:
        return False


def folder_exists(path: Path) -> bool:
    """Whether there is such a folder, as `file_exists`."""
    try:
        return path.is_dir()
    except OSError:
        return False


def searched_from(path: Path) -> str:
    """` in FOLDER`, the folder that a relative path belongs to; empty for an absolute path."""
    return "" if path.is_absolute() else f" in {Path.cwd()}"


DRAFT = ".harness-draft"
"""Folder inside an output folder during writing; it remains only after an interruption."""


@contextmanager
def atomic_folder(folder: Path) -> Iterator[Path]:
    """A context with an empty temporary folder, whose files move to `folder` at the end; of several
    processes that fill one folder, each waits for the one before.

    On an error they are deleted, and so is `folder` if it is new and empty.
    """
    draft, new = folder / DRAFT, not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    with _errors_of(draft, folder), _locked(folder):
        rmtree(draft, ignore_errors=True)
        draft.mkdir(parents=True)
        try:
            yield draft
            for path in relative_files(draft):
                target = folder / path
                target.parent.mkdir(parents=True, exist_ok=True)
                (draft / path).replace(target)
        finally:
            rmtree(draft)
            if new and not any(folder.iterdir()):
                folder.rmdir()


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Holds a lock of a folder, which ends with the process and leaves no file; without effect on
    Windows, and on file systems that lock no folders."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def relative_files(folder: Path) -> list[Path]:
    """All files in a folder and its subfolders, relative to it, sorted."""
    return sorted(path.relative_to(folder) for path in folder.rglob("*") if not path.is_dir())


def output_folder(path: Path) -> Path:
    """`path`, if it is a writable folder or can be created as one.

    Call this before an expensive computation whose results go there.

    Raises:
        ValueError: it is not.
    """
    nearest = next(one for one in (path, *path.absolute().parents) if os.path.lexists(one))
    if not nearest.is_dir():
        problem = "is a file" if nearest == path else f"{nearest} is a file"
    elif not os.access(nearest, os.W_OK | os.X_OK):
        problem = "is not writable" if nearest == path else f"{nearest} is not writable"
    else:
        return path
    raise ValueError(f"{path} must be a new folder or a writable one, but {problem}")


def has_earlier(folder: Path, names: Iterable[str], mark: str, kind: str) -> bool:
    """Whether a folder has an earlier `kind`, which may be overwritten.

    Args:
        names: of the files to be written to `folder`.
        mark: name of the file that every `kind` has, and that is written first, so that one whose
            writing was interrupted has it as well.

    Raises:
        ValueError: the folder is no `kind`, but has a file of the user with one of the names.
    """
    if (folder / mark).exists():
        return True
    if own := next((name for name in names if (folder / name).exists()), None):
        raise ValueError(f"{folder} has no {kind}, but a file {own}: name a folder of its own")
    return False


def make_once(path: Path, make: Callable[[Path], object]) -> None:
    """Creates the file `path` with `make`, atomically, unless it exists.

    If several processes need it, one creates it and the others wait.

    Args:
        make: writes the file to the temporary path that it is given.
    """
    if path.exists():
        return
    with FileLock(path.with_name(f"{path.name}.lock")):
        if not path.exists():
            draft = path.with_name(f"{path.name}.draft")
            draft.unlink(missing_ok=True)
            make(draft)
            draft.replace(path)
