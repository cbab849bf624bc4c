"""Differences stay readable: averages first, every column folded; a forest plot of few rows."""

import re
from collections.abc import Callable
from pathlib import Path

import pandas as pd

from harness.leaderboard.cells import mean_cell, number_cell
from harness.report.difference_tables import ELSEWHERE, amount, points
from harness.report.page import write_report
from tests.made_up_results import MadeUpResults


def differences(folder: Path) -> str:
    """The folded part on differences."""
    rest = (folder / "README.md").read_text().partition("<b>Differences</b>")[2]
    return rest.partition("<details><summary><b>")[0]


def test_few_differences_are_shown_at_once(
    fabricate: Callable[..., MadeUpResults], tmp_path: Path
) -> None:
    write_report(fabricate({"good": 0.9, "bad": 0.6}, expect=[("good", "bad")]), tmp_path)
    text = differences(tmp_path)
    assert "| good − bad (expected > 0) | sst2 |" in text
    assert "<details>" not in text


def test_of_many_the_averages_are_shown_and_the_rest_folded(
    fabricate: Callable[..., MadeUpResults], tmp_path: Path
) -> None:
    arms = {f"arm{i}": 0.5 + i / 25 for i in range(6)}
    write_report(fabricate(arms, examples=60, seeds=(2, 1)), tmp_path)
    text = differences(tmp_path)
    seen, _, folded = text.partition("<details>")
    assert seen.count("| arm0 − ") == 5
    assert "sst2 |" not in seen
    assert folded.count("| arm0 − ") == 5 * 4  # three columns and the average
    assert len(pd.read_csv(tmp_path / "differences.csv")) == 15 * 4


def test_pairs_without_an_average_stand_among_the_columns_unless_they_were_expected(
    fabricate: Callable[..., MadeUpResults], tmp_path: Path
) -> None:
    arms = {f"arm{i}": 0.5 + i / 25 for i in range(5)}
    data = fabricate(arms, examples=60, seeds=(2, 1), expect=[("arm4", "arm0")])
    lacking = (data.scores["arm"] == "arm0") & (data.scores["task"] == "sst2")
    write_report(data.but(scores=data.scores[~lacking]), tmp_path)
    text = differences(tmp_path)
    seen, _, rest = text.partition("<details>")
    assert [line for line in seen.splitlines() if "arm0" in line] == [
        "| arm4 − arm0 (expected > 0) | – | – | – | – |"
    ]
    assert seen.count("| arm") == 7
    assert "| arm1 − arm0 |" in rest or "| arm0 − arm1 |" in rest
    assert ELSEWHERE in rest


def test_a_forest_plot_has_the_columns_that_there_is_room_for(
    fabricate: Callable[..., MadeUpResults], tmp_path: Path
) -> None:
    heights = {}
    for name, count, expect in (("few", 3, []), ("some", 5, [("arm1", "arm0")]), ("many", 6, [])):
        arms = {f"arm{i}": 0.5 + i / 25 for i in range(count)}
        write_report(fabricate(arms, examples=60, seeds=(2, 1), expect=expect), tmp_path / name)
        svg = (tmp_path / name / "differences.svg").read_text()
        found = re.search(r'height="([\d.]+)pt"', svg)
        assert found
        heights[name] = float(found[1])
        assert (">sst2<" in svg) == (name != "many")
    assert heights["many"] < 400


def test_no_difference_has_no_sign() -> None:
    assert [points(value) for value in (-0.0, 0.0, -1e-14, 0.04, -0.04, -1.26)] == [
        *["0.0"] * 3,
        *("+0.0", "−0.0", "−1.3"),
    ]


def test_no_difference_of_a_quantity_has_no_sign_either() -> None:
    assert [amount(value, "FLOPs") for value in (0.0, -0.0, -0.5)] == ["0", "0", "−0.500"]


def test_negative_numbers_in_tables_have_a_minus_sign() -> None:
    assert number_cell(-0.84, "{:.1f}") == "−0.8"
    assert number_cell(-1.5e-5, "{:.1e}") == "−1.5e-05"
    assert mean_cell(-0.04, 0.3) == "−0.0 ± 0.3"


def test_equal_numbers_are_printed_alike_from_whatever_sum() -> None:
    sums = [2.35, 81.35 - 79.0]
    assert {f"{value:.1f}" for value in sums} == {"2.4", "2.3"}  # or this shows nothing
    assert {number_cell(value, "{:.1f}") for value in sums} == {"2.4"}
    assert {mean_cell(value, value) for value in sums} == {"2.4 ± 2.4"}
    assert {points(value) for value in sums} == {"+2.4"}
