"""`harness findings`."""

from pathlib import Path

from tests.cli.test_app import call
from tests.paths import ROOT


def test_the_board_is_written_and_counted(tmp_path: Path) -> None:
    for name in ("board.md", "page.html", "new/plain"):
        out = tmp_path / name
        code, output = call("findings", str(ROOT / "reports"), "--out", str(out))
        assert code == 0 and " confirmed, " in output and "not tested" in output
        assert out.with_suffix(".md").read_text().startswith("# Findings\n")
        assert out.with_suffix(".html").read_text().startswith("<!doctype html>")


def test_a_full_stop_in_the_name_of_the_board_begins_no_ending(tmp_path: Path) -> None:
    code, _ = call("findings", str(ROOT / "reports"), "--out", str(tmp_path / "board-2026.11"))
    assert code == 0
    assert {file.name for file in tmp_path.iterdir()} == {"board-2026.11.md", "board-2026.11.html"}


def test_folders_without_verdicts_are_refused(tmp_path: Path) -> None:
    code, output = call("findings", str(tmp_path / "absent"))
    assert code == 2 and "there is no folder" in output
    code, output = call("findings", str(tmp_path))
    assert code == 2 and "has a verdicts.csv" in output
