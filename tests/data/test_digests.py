"""Digests follow the content of files, however they were replaced, and so do the rows that are read
from them."""

import os
from pathlib import Path
from typing import Any

import datasets
import pandas as pd
import pytest

from harness.data import digests, hub
from harness.data.digests import DataChangedError, digest, unchanged


def replace(path: Path, text: str) -> None:
    """New content with the modification time of the old one, as of a copy that keeps times."""
    before = path.stat()
    path.write_text(text)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.csv"
    path.write_text("text,label\nfirst,1\n")
    return path


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")


def test_content_of_the_same_size_and_time_is_new(file: Path) -> None:
    before = digest([file]), hub.load_file("csv", file)["text"][0]
    replace(file, "text,label\nother,1\n")
    after = digest([file]), hub.load_file("csv", file)["text"][0]
    assert before[0] != after[0] and (before[1], after[1]) == ("first", "other")


def test_files_that_rest_are_read_once(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(digests, "CLOCK_TICK", -(10**18))  # any file rests
    found = digest([file])
    monkeypatch.setattr(digests, "_sha256", lambda _: pytest.fail("it was read again"))
    assert digest([file]) == found


@pytest.mark.parametrize(
    ("file_format", "reader"), [("csv", (pd, "read_csv")), ("jsonl", (datasets, "load_dataset"))]
)
def test_rows_that_change_while_they_are_read_are_refused(
    file: Path, monkeypatch: pytest.MonkeyPatch, file_format: str, reader: tuple[Any, str]
) -> None:
    """Nor are they taken for the rows of the first content later."""
    if file_format == "jsonl":
        file.write_text('{"text": "first", "label": 0}\n')
    load, before = getattr(*reader), file.read_text()

    def change_meanwhile(*arguments: Any, **options: Any) -> Any:
        file.write_text(before.replace("first", "other"))
        return load(*arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(*reader, change_meanwhile)
        with pytest.raises(ValueError, match=rf"cannot be read as {file_format}: its content chan"):
            hub.load_file(file_format, file)
    file.write_text(before)
    assert hub.load_file(file_format, file)["text"][0] == "first"


def test_data_are_checked_before_and_after_they_are_read(file: Path) -> None:
    planned = digest([file])
    with unchanged("the file", planned, lambda: digest([file])):
        pass
    with pytest.raises(DataChangedError), unchanged("the file", planned, lambda: digest([file])):
        replace(file, "text,label\nother,1\n")
    begun = False
    with (
        pytest.raises(DataChangedError, match=r"^the file must be as they were when the plan"),
        unchanged("the file", planned, lambda: digest([file])),
    ):
        begun = True
    assert not begun
