"""Replaces an older site by a new one, completely or not at all."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.core.files import DRAFT, atomic_folder, output_folder, relative_files, write_atomically

MARK = ".harness-site"
"""File that marks a folder as a site and lists its files, one per line after the first."""


@contextmanager
def replaced_site(out: Path) -> Iterator[Path]:
    """A folder to build a site in, whose files replace the site in `out` on exit.

    Raises:
        ValueError: `out` holds other files but no site, or cannot be written.
    """
    _refuse_others(output_folder(out))
    old = set(_listed(out))
    with atomic_folder(out) as draft:
        yield draft
        new = set(relative_files(draft))
        _mark(out, old | new)  # if killed from here on, the next run removes the old files
    _remove(out, old - new)
    _mark(out, new)


def _refuse_others(out: Path) -> None:
    there = {path.name for path in out.iterdir()} if out.exists() else set()
    if there - {DRAFT} and MARK not in there:
        raise ValueError(
            f"{out} must be new, empty or a site, but holds other files: choose another folder"
        )


def _listed(out: Path) -> list[Path]:
    mark = out / MARK
    lines = mark.read_text(encoding="utf-8").splitlines()[1:] if mark.is_file() else []
    return [Path(line) for line in lines]


def _mark(out: Path, files: Iterable[Path]) -> None:
    lines = ["files of a site written by harness site:", *sorted(path.as_posix() for path in files)]
    write_atomically(out / MARK, "\n".join(lines) + "\n")


def _remove(out: Path, files: Iterable[Path]) -> None:
    """Removes files of `out` and folders that become empty, nothing outside of `out`."""
    here = out.resolve()
    for path in files:
        folder = (here / path).parent.resolve()
        if folder.is_relative_to(here) and (folder / path.name).is_file():
            (folder / path.name).unlink()
            while folder != here and not any(folder.iterdir()):
                folder.rmdir()
                folder = folder.parent
