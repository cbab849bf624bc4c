"""Comma-separated text in which no text cell is a formula."""

import csv
import io

import pandas as pd
import pytest

from harness.core.csv_text import csv_text, frame_csv, safe_cell


@pytest.mark.parametrize(
    "cell",
    ["=1+1", '=HYPERLINK("http://x","y")', "+nsp", "-1+cmd|' /C calc'!A0", "@SUM(A1)", "\t=1", "-"],
)
def test_text_is_no_formula(cell: str) -> None:
    assert safe_cell(cell) == f"'{cell}"


@pytest.mark.parametrize(
    "cell",
    [
        "-0.5",
        "+1.2 [-0.3, 2.7]",
        "-3.1 ± 0.4",
        "-1e-05",
        "-inf",
        "1,000",
        "a=b",
        "",
        "–",
        -0.5,
        None,
    ],
)
def test_numbers_and_other_text_stay(cell: object) -> None:
    assert safe_cell(cell) is cell


def test_cells_and_heads_of_a_frame() -> None:
    frame = pd.DataFrame(
        {"=arm": ["+a", "b", None], "difference": [-0.5, 1.0, 0.0], "n": [-1, 2, 3]}
    )
    rows = list(csv.reader(io.StringIO(frame_csv(frame))))
    assert rows == [
        ["'=arm", "difference", "n"],
        ["'+a", "-0.5", "-1"],
        ["b", "1.0", "2"],
        ["", "0.0", "3"],
    ]
    assert list(frame.columns) == ["=arm", "difference", "n"] and frame.iloc[0, 0] == "+a"


def test_lines() -> None:
    assert csv_text([["arm", "=x"], ["-y", "-0.25"]]) == "arm,'=x\n'-y,-0.25\n"
