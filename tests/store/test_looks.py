"""At which numbers of seeds verdicts have been looked at."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from harness.store.looks import FOLDER, MadeLook, read_looks, record_look


def test_the_first_look_at_a_number_of_seeds_is_kept(tmp_path: Path) -> None:
    record_look(tmp_path, "study", 3, 10, True)
    first = read_looks(tmp_path, "study")
    assert first == {3: MadeLook(first[3].time, 10, True)} and first[3].time.endswith("+00:00")
    record_look(tmp_path, "study", 3, 12, False)
    record_look(tmp_path, "study", 5, 12, False)
    later = read_looks(tmp_path, "study")
    assert later[3] == first[3] and (later[5].planned, later[5].declared) == (12, False)
    assert read_looks(tmp_path, "another") == {}


def test_of_looks_at_once_all_are_kept(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda n: record_look(tmp_path, "study", n, 30, False), range(24)))
    assert sorted(read_looks(tmp_path, "study")) == list(range(24))


def test_a_damaged_file_tells_nothing(tmp_path: Path) -> None:
    record_look(tmp_path, "study", 3, 10, True)
    (file,) = (tmp_path / FOLDER).iterdir()
    file.write_text(file.read_text().replace('"planned": 10', '"planned": 12'))
    assert read_looks(tmp_path, "study") == {}
    for text in ('{"3": {"other": 1}}', '{"three": {}}', '{"3": 1}'):
        file.write_text(text)
        assert read_looks(tmp_path, "study") == {}


def test_a_store_that_cannot_be_written_keeps_nothing(tmp_path: Path) -> None:
    (tmp_path / FOLDER).write_text("a file where a folder should be")
    record_look(tmp_path, "study", 3, 10, True)
    assert read_looks(tmp_path, "study") == {}
