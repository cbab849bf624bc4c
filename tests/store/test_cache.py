"""The cache of downloads: once, whole, within its limit."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from harness.store import cache
from harness.store.cache import cached, forget


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


class Server:
    """Counts downloads of files of a size."""

    def __init__(self, size: int = 3) -> None:
        self.size, self.downloads = size, 0

    def __call__(self, address: str, folder: Path) -> Path:
        self.downloads += 1
        (folder / "inside").mkdir()
        (folder / "inside" / "file").write_bytes(b"x" * self.size)
        return folder if address.endswith("/") else folder / "inside" / "file"


@pytest.mark.parametrize("address", ["s3://run/", "s3://run/file"])
def test_a_folder_or_file_is_downloaded_once(address: str, folder: Path) -> None:
    server = Server()
    with ThreadPoolExecutor(4) as pool:
        places = list(pool.map(lambda _: cached(address, server), range(8)))
    assert len(set(places)) == 1 and server.downloads == 1
    place = places[0]
    assert (place / "inside" / "file" if place.is_dir() else place).read_text() == "xxx"
    forget(address)
    assert not place.exists()
    assert cached(address, server) == place and server.downloads == 2


def test_a_failed_download_leaves_nothing(folder: Path) -> None:
    def fail(address: str, draft: Path) -> Path:
        (draft / "half").write_text("of it")
        raise OSError("the line is cut")

    with pytest.raises(OSError, match="cut"):
        cached("s3://run/", fail)
    assert [path.name for path in folder.iterdir() if path.suffix != ".lock"] == []


def test_what_was_not_used_for_longest_makes_room(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "CHECK_SECONDS", 0.0)
    monkeypatch.setenv("HARNESS_CACHE_GB", str(250 / 2**30))
    server = Server(size=100)
    places = [cached(f"s3://{name}/", server) for name in "abc"]
    assert all(place.exists() for place in places)  # all were used today
    locks = [place.with_suffix(".lock") for place in places]
    for age, *pair in zip((3, 2, 0), places, locks, strict=True):
        for path in pair:
            then = path.stat().st_mtime - age * 24 * 3600
            os.utime(path, (then, then))
    cached("s3://a/", server)  # used again
    last = cached("s3://d/", server)
    assert [place.exists() for place in (*places, last)] == [True, False, True, True]
    assert all(lock.exists() for lock in locks)  # another process may hold one


def test_what_another_process_deletes_meanwhile_is_downloaded_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A missing file counted as damage, and its stage was computed again."""
    server, touched = Server(), list[Path]()
    place = cached("s3://run/", server)

    def deleted_once(path: Path) -> None:
        if not touched:
            forget("s3://run/")
        touched.append(path)
        path.stat()

    monkeypatch.setattr("os.utime", deleted_once)
    assert cached("s3://run/", server) == place and place.exists() and server.downloads == 2


def test_two_processes_that_make_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the other deletes while its size is measured is missing, too."""

    def missing(place: Path) -> int:
        raise FileNotFoundError(place)

    monkeypatch.setattr(cache, "_size", missing)
    assert cached("s3://a/", Server()).exists()


def test_drafts_of_killed_processes_are_deleted(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "CHECK_SECONDS", 0.0)
    for name, age in (("old", 2), ("new", 0)):
        file = folder / f"{cache.DRAFT}{name}" / "half"
        file.parent.mkdir(parents=True)
        file.write_text("of it")
        for path in (file, file.parent):
            then = path.stat().st_mtime - age * 24 * 3600
            os.utime(path, (then, then))
    cached("s3://a/", Server())
    assert [path.name for path in folder.glob(f"{cache.DRAFT}*")] == [f"{cache.DRAFT}new"]


def test_the_limit_is_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARNESS_CACHE_GB", "50 GB")
    with pytest.raises(ValueError, match="HARNESS_CACHE_GB must be a number of GB, but is '50 GB'"):
        cache.limit_bytes()
