"""Probes in the report: means over seeds, chance beside, null with its reason."""

from collections.abc import Callable
from pathlib import Path

import pandas as pd

from harness.analysis.frames.scores import PROBE_COLUMNS
from harness.report.page import write_report
from harness.report.sections.probes import probe_tables
from tests.made_up_results import MadeUpResults

WHY = "it names no tokens"
ROWS = [
    ("good", "p", "verb", 0, 0.9, 0.25, 200, ""),
    ("good", "p", "verb", 1, 0.8, 0.25, 200, ""),
    ("good", "p", "overall", 0, 0.7, 0.3, 1800, ""),
    ("good", "p", "overall", 1, float("nan"), 0.3, 1800, ""),
    ("mute", "p", "verb", 0, float("nan"), float("nan"), 0, WHY),
    ("mute", "p", "overall", 0, float("nan"), 0.3, 0, WHY),
]
FRAME = pd.DataFrame(ROWS, columns=PROBE_COLUMNS)


def test_means_over_seeds_and_nulls() -> None:
    """A seed without a score leaves its cell without one."""
    (table,) = probe_tables(FRAME, ["good", "mute", "absent"])
    assert table.name == "p"
    assert table.shown.head == ["category", "good", "mute", "absent", "chance", "items"]
    assert table.shown.rows == [
        ["verb", "85.0", "–", "–", "25.0", "200"],
        ["overall", "–", "–", "–", "30.0", "1,800"],
    ]
    assert table.reasons == [f"mute: {WHY}."]
    assert probe_tables(FRAME.iloc[:0], ["good"]) == probe_tables(pd.DataFrame(), []) == []


def test_both_formats_show_them(tmp_path: Path, fabricate: Callable[..., MadeUpResults]) -> None:
    skills = {"good": 0.9, "mute": 0.6}
    write_report(fabricate(skills, probes=FRAME), tmp_path)
    readme = (tmp_path / "README.md").read_text()
    assert "p:\n\n| category |" in readme.partition("<b>Probes</b>")[2]
    assert f"mute: {WHY}." in readme
    assert "<h3>p</h3>" in (tmp_path / "index.html").read_text()
    write_report(fabricate(skills), tmp_path)
    assert "Probes" not in (tmp_path / "README.md").read_text()


def test_of_many_categories_the_mean_is_shown_and_the_rest_folded(
    tmp_path: Path, fabricate: Callable[..., MadeUpResults]
) -> None:
    rows = [
        ("good", "p", f"c{i}", 0, i / 30, 0.5, 10, "") for i in range(30)
    ] + [("good", "p", "overall", 0, 0.5, 0.5, 300, "")]  # fmt: skip
    write_report(
        fabricate({"good": 0.9}, probes=pd.DataFrame(rows, columns=PROBE_COLUMNS)), tmp_path
    )
    shown, _, folded = (
        (tmp_path / "README.md")
        .read_text()
        .partition("<b>Probes</b>")[2]
        .partition("<details><summary>p, by category</summary>")
    )
    assert "| overall |" in shown and "| c3 |" not in shown
    assert "| c3 |" in folded


def probed(num_arms: int, num_categories: int) -> tuple[pd.DataFrame, list[str]]:
    arms = [f"arm{i}" for i in range(num_arms)]
    categories = [*(f"c{i}" for i in range(num_categories)), "overall"]
    rows = [(arm, "p", category, 0, 0.5, 0.25, 10, "") for arm in arms for category in categories]
    return pd.DataFrame(rows, columns=PROBE_COLUMNS), arms


def test_many_arms_are_lines_and_the_mean_of_many_categories_is_one_column() -> None:
    """Twelve arms would be few lines, and 23 many: the number of categories decides."""
    for num_arms in (12, 23):
        (table,) = probe_tables(*probed(num_arms, 67))
        assert table.shown.head == ["arm", "overall"]
        assert table.shown.rows[0] == ["arm0", "50.0"]
        assert table.shown.rows[num_arms:] == [["chance", "25.0"], ["items", "10"]]
        assert table.folded and len(table.folded.rows) == 68
        (table,) = probe_tables(*probed(num_arms, 9))
        assert len(table.shown.head) == 11 and len(table.shown.rows) == num_arms + 2
        assert table.folded is None
