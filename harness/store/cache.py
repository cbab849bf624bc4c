"""Files downloaded from a server, kept once for all processes of a machine.

The files of a run never change once it has finished, so its address identifies them.
"""

import hashlib
import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory

from filelock import FileLock

FOLDER, LIMIT = "HARNESS_CACHE", "HARNESS_CACHE_GB"
"""Environment variables: the folder, and its largest size in units of 2^30 bytes."""
DEFAULT_LIMIT = 50.0
KEPT_SECONDS = 24 * 3600.0
"""Files that were used since are kept, whatever the size: a stage may be reading them."""
CHECK_SECONDS = 600.0
"""Least time between two measurements of the size."""
DRAFT = ".draft-"
"""Begin of the names of folders of unfinished downloads."""
CHECKED = ".checked"
"""File whose time is that of the latest measurement."""


def cache_folder() -> Path:
    """The folder of the cache: `HARNESS_CACHE`, or one in the user's cache folder."""
    user = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(os.environ.get(FOLDER) or user / "pretraining-harness")


def limit_bytes() -> float:
    """The largest size of the cache: `HARNESS_CACHE_GB`, or the default.

    Raises:
        ValueError: it is not a number.
    """
    given = os.environ.get(LIMIT) or DEFAULT_LIMIT
    try:
        return 2**30 * float(given)
    except ValueError:
        raise ValueError(f"{LIMIT} must be a number of GB, but is {given!r}") from None


def cached(address: str, download: Callable[[str, Path], Path]) -> Path:
    """The local copy of a file or folder; if there is none, one process downloads it and the others
    wait.

    Args:
        download: puts what is at an address into a folder, and returns its path.

    Raises:
        FileNotFoundError: there is nothing at the address.
        OSError: the download fails.
    """
    place = _place(address)
    place.parent.mkdir(parents=True, exist_ok=True)
    while True:
        if not place.exists():
            with FileLock(place.with_suffix(".lock")):
                if not place.exists():
                    with TemporaryDirectory(dir=place.parent, prefix=DRAFT) as draft:
                        download(address, Path(draft)).replace(place)
            with suppress(FileNotFoundError):  # another process makes room, too
                _make_room(place.parent)
        with suppress(FileNotFoundError):  # another process has just deleted it
            os.utime(place)
            return place


def forget(address: str) -> None:
    """Deletes the local copy, which is damaged."""
    _delete(_place(address))


def _place(address: str) -> Path:
    return cache_folder() / hashlib.sha256(address.encode()).hexdigest()


def _make_room(folder: Path) -> None:
    """Deletes what was not used for longest until the rest is within the limit."""
    checked, now = folder / CHECKED, time.time()
    if checked.exists() and now - checked.stat().st_mtime < CHECK_SECONDS:
        return
    checked.touch()
    for draft in folder.glob(f"{DRAFT}*"):  # of a process that was killed
        if now - _last_change(draft) > KEPT_SECONDS:
            _delete(draft)
    used = {place: place.stat().st_mtime for place in folder.iterdir() if not place.suffix}
    sizes = {place: _size(place) for place in used if not place.name.startswith(".")}
    excess = sum(sizes.values()) - limit_bytes()
    for place in sorted(sizes, key=used.__getitem__):
        if excess > 0 and now - used[place] > KEPT_SECONDS:
            _delete(place)
            excess -= sizes[place]


def _last_change(place: Path) -> float:
    """Unix time; 0 of what another process deletes."""
    try:
        return max(path.stat().st_mtime for path in (place, *place.rglob("*")))
    except FileNotFoundError:
        return 0.0


def _size(place: Path) -> int:
    files = place.rglob("*") if place.is_dir() else [place]
    return sum(file.stat().st_size for file in files if file.is_file())


def _delete(place: Path) -> None:
    if place.is_dir():
        rmtree(place, ignore_errors=True)
    else:
        place.unlink(missing_ok=True)
