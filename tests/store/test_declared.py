"""When expectations were declared first."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from harness.store.declared import FOLDER, Declared, is_recorded, read_declared, record_declared


def test_the_first_run_with_an_expectation_is_kept(tmp_path: Path) -> None:
    record_declared(tmp_path, "study", [("a > b", 0, 12)])
    first = read_declared(tmp_path, "study")
    assert first["a > b"].finished == 0 and first["a > b"].planned == 12
    record_declared(tmp_path, "study", [("a > b", 12, 12), ("b > c", 12, 12)])
    later = read_declared(tmp_path, "study")
    assert later["a > b"] == first["a > b"] and later["b > c"].finished == 12
    record_declared(tmp_path, "study", [])  # an expectation that is removed stays known
    assert read_declared(tmp_path, "study") == later
    assert read_declared(tmp_path, "another") == {}


def test_of_runs_that_declare_at_once_all_are_kept(tmp_path: Path) -> None:
    """One that was lost counted later as declared after results."""
    texts = [f"a{number} > b" for number in range(24)]
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda text: record_declared(tmp_path, "study", [(text, 0, 12)]), texts))
    assert sorted(read_declared(tmp_path, "study")) == sorted(texts)


def test_that_there_were_none_is_kept(tmp_path: Path) -> None:
    assert not is_recorded(tmp_path, "study")
    record_declared(tmp_path, "study", [])
    assert is_recorded(tmp_path, "study") and read_declared(tmp_path, "study") == {}


def test_a_damaged_file_tells_nothing(tmp_path: Path) -> None:
    record_declared(tmp_path, "study", [("a > b", 3, 12)])
    (file,) = (tmp_path / FOLDER).iterdir()
    file.write_text(file.read_text().replace('"finished": 3', '"finished": 0'))
    assert read_declared(tmp_path, "study") == {}
    file.write_text('{"a > b": {"other": 1}}')
    assert read_declared(tmp_path, "study") == {}


def test_a_store_that_cannot_be_written_keeps_nothing(tmp_path: Path) -> None:
    (tmp_path / FOLDER).write_text("a file where a folder should be")
    record_declared(tmp_path, "study", [("a > b", 0, 12)])
    assert read_declared(tmp_path, "study") == {}


@pytest.mark.parametrize("finished", [0, 5, None])
def test_what_is_read_is_what_was_kept(tmp_path: Path, finished: int | None) -> None:
    record_declared(tmp_path, "study", [("a > b, predicted +20", finished, 12)])
    (one,) = read_declared(tmp_path, "study").values()
    assert one == Declared(one.time, finished, 12) and one.time.endswith("+00:00")
