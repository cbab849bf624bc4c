"""The decisions of reports on the board."""

from pathlib import Path

import pytest

from harness.report.findings.decisions import read_decisions
from harness.report.findings.markdown import board
from harness.report.sections.decisions import COLUMNS

HEAD = ",".join(COLUMNS)


def write(folder: Path, *lines: str) -> Path:
    own = folder / "reports" / "part" / "study"
    own.mkdir(parents=True)
    (own / "decisions.csv").write_text("\n".join([HEAD, *lines]) + "\n")
    return folder / "reports"


def test_levels_with_three_pairs_are_on_the_board(tmp_path: Path) -> None:
    lines = ("tokens,250k,4M,10,7,6,5,0.65", "tokens,1M,4M,3,1,0,0,", "tokens,2M,4M,2,1,0,0,")
    reports = write(tmp_path, *lines)
    found = read_decisions(reports)
    assert [(one.report, one.level.level) for one in found] == [
        ("part/study", "250k"),
        ("part/study", "1M"),
    ]
    page = board([], reports, tmp_path / "findings.md", found)
    link = "[part/study](reports/part/study/README.md)"
    assert f"| {link} | tokens | 250k | 4M | 10 | 7 (70 %) | 5 of 6 | 65 % |" in page


def test_without_decisions_the_section_is_absent(tmp_path: Path) -> None:
    assert "Small experiments beside" not in board([], tmp_path, tmp_path / "findings.md")


@pytest.mark.parametrize(
    "line",
    [
        "tokens,250k,4M,10,7,6,7,0.65",
        "tokens,250k,4M,3,4,2,2,0.65",
        "tokens,250k,4M,many,7,6,5,0.65",
        "tokens,250k,4M,10",
    ],
)
def test_damaged_lines_are_refused(tmp_path: Path, line: str) -> None:
    with pytest.raises(ValueError, match=r"decisions\.csv: a line does not have"):
        read_decisions(write(tmp_path, line))


def test_other_columns_are_refused(tmp_path: Path) -> None:
    reports = write(tmp_path)
    next(reports.rglob("decisions.csv")).write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="the columns must be along, level"):
        read_decisions(reports)
