"""A site in the place of an older one: whole or not at all, and nothing else touched."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.core.files import DRAFT, atomic_folder, output_folder, relative_files, write_atomically

MARK = ".harness-site"
"""A file that says that a folder holds a site, and of which files that is made: a line each, after
the first."""


@contextmanager
def placed(out: Path) -> Iterator[Path]:
    """Gives a folder to build a site in, which at the end takes the place of the one in `out`.

    Raises:
        ValueError: `out` is a folder with something else and no site in it, or cannot be written.
    """
    _refuse_others(output_folder(out))
    old = set(_listed(out))
    with atomic_folder(out) as draft:
        yield draft
        new = set(relative_files(draft))
        _mark(out, old | new)  # if this is killed from here on, the next site clears up
    _remove(out, old - new)
    _mark(out, new)


def _refuse_others(out: Path) -> None:
    there = {path.name for path in out.iterdir()} if out.exists() else set()
    if there - {DRAFT} and MARK not in there:
        raise ValueError(f"{out} must be new, empty or a site, but holds other files: name another")


def _listed(out: Path) -> list[Path]:
    mark = out / MARK
    lines = mark.read_text(encoding="utf-8").splitlines()[1:] if mark.is_file() else []
    return [Path(line) for line in lines]


def _mark(out: Path, files: Iterable[Path]) -> None:
    lines = ["made by harness site of these files:", *sorted(path.as_posix() for path in files)]
    write_atomically(out / MARK, "\n".join(lines) + "\n")


def _remove(out: Path, files: Iterable[Path]) -> None:
    """Removes files of `out`, and folders that are empty then; nothing that lies outside of it."""
    here = out.resolve()
    for path in files:
        folder = (here / path).parent.resolve()
        if folder.is_relative_to(here) and (folder / path.name).is_file():
            (folder / path.name).unlink()
            while folder != here and not any(folder.iterdir()):
                folder.rmdir()
                folder = folder.parent
