"""The guard of the fuzzers: changes elsewhere and hangs are found, and nothing else."""

import shutil
import signal
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from benchmarks.guarded_inputs import Hang, WroteElsewhere, within_seconds, writing_only_to

CHANGES: dict[str, Callable[[Path], object]] = {
    "write": lambda path: path.write_text("x"),
    "append": lambda path: path.open("a").close(),
    "make a folder": lambda path: path.mkdir(),
    "move": lambda path: path.with_name("old").replace(path),
    "link": lambda path: path.symlink_to("old"),
    "remove": lambda path: path.with_name("old").unlink(),
    "remove a folder": lambda path: shutil.rmtree(path.with_name("folder")),
    "a database": lambda path: sqlite3.connect(path).close(),
}
"""Kind of change to what makes it beside the files `old` and `folder`."""


def _folder(path: Path) -> Path:
    (path / "folder").mkdir(parents=True)
    (path / "old").write_text("old")
    return path


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_changes_elsewhere_are_refused(change: Callable[[Path], object], tmp_path: Path) -> None:
    inside, outside = _folder(tmp_path / "inside"), _folder(tmp_path / "outside")
    before = sorted(outside.iterdir())
    with writing_only_to(inside, tmp_path / "cache"):
        change(inside / "new")
        with pytest.raises(WroteElsewhere, match="outside"):
            change(outside / "new")
        with pytest.raises(WroteElsewhere):
            change(inside / ".." / "outside" / "new")
    assert sorted(outside.iterdir()) == before
    change(outside / "new")  # no longer watched


def test_reading_elsewhere_is_allowed(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("text")
    (tmp_path / "inside").mkdir()
    with writing_only_to(tmp_path / "inside"):
        assert (tmp_path / "file").read_text() == "text"
        (tmp_path / "inside" / "link").symlink_to(tmp_path / "file")
        with pytest.raises(WroteElsewhere):
            (tmp_path / "inside" / "link").write_text("through a link")
    assert (tmp_path / "file").read_text() == "text"


def test_a_hang_ends() -> None:
    def hang() -> None:
        while True:
            with suppress(Exception):  # as libraries do
                sum(range(1000))

    with pytest.raises(Hang, match=r"more than 0\.05 s"), within_seconds(0.05):
        hang()
    with within_seconds(60):
        pass
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
