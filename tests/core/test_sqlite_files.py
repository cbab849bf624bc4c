"""SQLite files whose writer was killed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness.core.sqlite_files import damage, read_only

KILLED_WRITER = """
import os, signal, sqlite3, sys

connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("create table numbers (value)")
connection.executemany("insert into numbers values (?)", [(n,) for n in range(3)])
connection.execute("pragma cache_size = 1")  # pages go to the file before the commit
connection.execute("begin")
connection.executemany("insert into numbers values (?)", [("x" * 1000,) for _ in range(1000)])
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def interrupted(tmp_path: Path) -> Path:
    """A file of three rows whose writer was killed while it added a thousand."""
    path = tmp_path / "a b.db"
    subprocess.run([sys.executable, "-c", KILLED_WRITER, str(path)])
    assert path.with_name("a b.db-journal").stat().st_size
    return path


def test_an_interrupted_write_is_undone(interrupted: Path) -> None:
    with read_only(interrupted) as connection:
        rows = connection.execute("select value from numbers order by value").fetchall()
    assert rows == [(0,), (1,), (2,)]


def test_a_file_with_an_interrupted_write_is_not_damaged(interrupted: Path) -> None:
    assert damage(interrupted) == ""


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everything")
def test_an_interrupted_write_of_a_file_without_write_access(interrupted: Path) -> None:
    interrupted.chmod(0o400)
    with pytest.raises(OSError, match="needs write access"), read_only(interrupted):
        pass
