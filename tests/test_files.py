"""Files are there whole or not at all."""

from pathlib import Path

import pytest

from harness.files import whole, write_atomically


def copy(to: Path, source: Path) -> None:
    to.write_text("ne")
    to.write_text(source.read_text())


def test_what_fails_leaves_the_old_file_and_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    write_atomically(path, "old")
    with pytest.raises(OSError, match="No such file"), whole(path) as draft:
        copy(draft, tmp_path / "none")
    assert [file.name for file in tmp_path.iterdir()] == ["table.csv"]
    assert path.read_text() == "old"


def test_what_ends_well_stands_in_its_place(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    with whole(path) as draft:
        draft.write_text("new")
        assert not path.exists()
    assert [file.name for file in tmp_path.iterdir()] == ["table.csv"]
    assert path.read_text() == "new"
