"""Files are there whole or not at all."""

import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from harness.core.files import (
    DRAFT,
    atomic_folder,
    atomic_path,
    has_earlier,
    make_once,
    output_folder,
    searched_from,
    usual_mode,
    write_atomically,
)


def copy(to: Path, source: Path) -> None:
    to.write_text("ne")
    to.write_text(source.read_text())


def test_what_fails_leaves_the_old_file_and_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    write_atomically(path, "old")
    with pytest.raises(OSError, match="No such file"), atomic_path(path) as draft:
        copy(draft, tmp_path / "none")
    assert [file.name for file in tmp_path.iterdir()] == ["table.csv"]
    assert path.read_text() == "old"


def test_errors_name_the_file_and_not_the_temporary_one(tmp_path: Path) -> None:
    missing, folder = tmp_path / "none" / "table.csv", tmp_path / "folder"
    with pytest.raises(OSError, match="No such file") as error:
        write_atomically(missing, "new")
    assert str(error.value).endswith(f"No such file or directory: '{missing}'")
    folder.mkdir()
    (folder / "file").touch()
    with pytest.raises(OSError, match="directory") as error:
        write_atomically(folder, "new")
    assert str(error.value).endswith(f": '{folder}'")
    with pytest.raises(OSError, match="No such file") as error, atomic_folder(folder) as draft:
        (draft / "none" / "table.csv").write_text("new")
    assert str(error.value).endswith(f": '{folder / 'none' / 'table.csv'}'")
    with pytest.raises(OSError, match="No such file") as error, atomic_folder(folder):
        missing.read_text()
    assert str(error.value).endswith(f": '{missing}'")
    assert [path.name for path in folder.iterdir()] == ["file"]


def test_finished_files_are_moved_into_place(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    with atomic_path(path) as draft:
        draft.write_text("new")
        assert not path.exists()
    assert [file.name for file in tmp_path.iterdir()] == ["table.csv"]
    assert path.read_text() == "new"


def test_a_folder_is_filled_at_the_end_and_keeps_what_else_it_holds(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "out"
    with atomic_folder(folder) as draft:
        (draft / "a").mkdir()
        (draft / "a" / "b.txt").write_text("new")
        assert [path.name for path in folder.iterdir()] == [DRAFT]
    (folder / "mine.txt").write_text("mine")
    (folder / DRAFT).mkdir()  # one that was killed
    (folder / DRAFT / "half.txt").write_text("half")
    with atomic_folder(folder) as draft:
        assert not any(draft.iterdir())
        (draft / "c.txt").write_text("new")
    found = {str(path.relative_to(folder)) for path in folder.rglob("*")}
    assert found == {"a", "a/b.txt", "c.txt", "mine.txt"}


def test_a_folder_that_could_not_be_filled_is_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    for name in ("old", "new"):
        with pytest.raises(OSError, match="No such file"), atomic_folder(tmp_path / name) as draft:
            copy(draft / "x.txt", tmp_path / "none")
    assert [path.name for path in tmp_path.rglob("*")] == ["old"]


def test_two_processes_that_fill_a_folder_wait_for_each_other(tmp_path: Path) -> None:
    """The second would delete the unfinished files of the first."""

    def fill(name: str) -> None:
        with atomic_folder(tmp_path / "out") as draft:
            (draft / f"{name}.txt").write_text(name)
            time.sleep(0.1)
            (draft / f"{name}2.txt").write_text(name)

    with ThreadPoolExecutor() as threads:
        list(threads.map(fill, "abc"))
    found = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert found == ["a.txt", "a2.txt", "b.txt", "b2.txt", "c.txt", "c2.txt"]


def test_names_of_drafts_differ_and_are_not_too_long(tmp_path: Path) -> None:
    """Processes in two containers may have the same number."""
    path = tmp_path / f"{'ü' * 120}.csv"
    with atomic_path(path) as first, atomic_path(path) as second:
        assert first != second
        first.write_text("1")
        second.write_text("2")
    assert path.read_text() == "1"
    assert list(tmp_path.iterdir()) == [path]


def test_an_output_folder_is_new_or_a_folder(tmp_path: Path) -> None:
    assert output_folder(tmp_path) == tmp_path
    assert output_folder(tmp_path / "a" / "b") == tmp_path / "a" / "b"
    assert not (tmp_path / "a").exists()
    (tmp_path / "file").write_text("mine")
    (tmp_path / "nowhere").symlink_to(tmp_path / "gone")
    rule = "must be a new folder or a writable one, but"
    with pytest.raises(ValueError, match=f"file {rule} is a file"):
        output_folder(tmp_path / "file")
    with pytest.raises(ValueError, match=f"out {rule} .*file is a file"):
        output_folder(tmp_path / "file" / "out")
    with pytest.raises(ValueError, match=f"nowhere {rule} is a file"):
        output_folder(tmp_path / "nowhere")


def test_an_output_folder_can_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: path != tmp_path)  # root may write to all
    with pytest.raises(ValueError, match="writable one, but is not writable"):
        output_folder(tmp_path)
    with pytest.raises(ValueError, match=f"but {tmp_path} is not writable"):
        output_folder(tmp_path / "a" / "b")


def test_the_mode_of_a_file_becomes_that_of_new_ones(tmp_path: Path) -> None:
    file, new = tmp_path / "weights", tmp_path / "new"
    file.write_text("kept")
    file.chmod(0o600)
    before = os.umask(0o027)
    try:
        usual_mode(file)
        new.touch()
    finally:
        os.umask(before)
    assert file.stat().st_mode == new.stat().st_mode and file.stat().st_mode & 0o777 == 0o640
    assert file.read_text() == "kept" and sorted(tmp_path.iterdir()) == [new, file]


def test_a_file_is_made_once(tmp_path: Path) -> None:
    """By the first of several that need it; one that was killed has left a part."""
    path, made = tmp_path / "table", []
    path.with_name("table.draft").write_text("half")

    def make(draft: Path) -> None:
        assert not draft.exists() and not path.exists()
        draft.write_text("whole")
        time.sleep(0.05)
        made.append(draft)

    with ThreadPoolExecutor() as threads:
        list(threads.map(lambda _: make_once(path, make), range(3)))
    make_once(path, make)
    assert len(made) == 1 and path.read_text() == "whole"
    assert not path.with_name("table.draft").exists()


def test_what_another_has_made_meanwhile_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "table"

    def interrupted(draft: Path) -> None:
        draft.write_text("half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make_once(path, interrupted)
    assert not path.exists()
    make_once(path, lambda draft: draft.write_text("whole"))
    assert path.read_text() == "whole"


def test_only_earlier_output_is_overwritten(tmp_path: Path) -> None:
    names = ("README.md", "data.csv")
    assert not has_earlier(tmp_path, names, "mark", "report")
    (tmp_path / "other.txt").touch()
    assert not has_earlier(tmp_path, names, "mark", "report")
    (tmp_path / "data.csv").touch()
    with pytest.raises(ValueError, match=r"has no report, but a file data\.csv: name a folder"):
        has_earlier(tmp_path, names, "mark", "report")
    (tmp_path / "mark").touch()
    assert has_earlier(tmp_path, names, "mark", "report")


def test_a_relative_path_is_searched_from_this_folder() -> None:
    assert searched_from(Path("a.csv")) == f" in {Path.cwd()}"
    assert searched_from(Path("/a.csv")) == ""
