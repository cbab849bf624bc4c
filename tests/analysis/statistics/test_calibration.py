"""The coverage in docs/statistics.md is the measured one; a smaller simulation agrees with it."""

import json
import re

import numpy as np
import pytest

from benchmarks.calibration import RESULTS, Case, trial
from tests.paths import ROOT

DOCS = ROOT / "docs" / "statistics.md"
TRIALS = 150
ROWS = {
    "one task of 500 examples": "500 examples",
    "500": "500 examples",
    "one task of 4,000": "4,000 examples",
    "4,000": "4,000 examples",
    "average of 4 tasks of 200": "4 tasks of 200",
    "4 tasks of 200": "4 tasks of 200",
    "same checkpoints, 500": "500 examples",
}


@pytest.mark.parametrize("difference", [0.0, 0.05])
@pytest.mark.parametrize("seeds", [3, 5, 10])
def test_welchs_interval_holds_the_truth(seeds, difference):
    """Equal arms, and arms that differ by 5 points; nominal 95 %, less three standard errors."""
    rng = np.random.default_rng([seeds, int(100 * difference)])
    case = Case(seeds, num_tasks=1, num_examples=100, difference=difference, shared=False)
    held = [trial(case, 50, rng)["welch"][0] for _ in range(TRIALS)]
    assert np.mean(held) >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / TRIALS)


def test_the_tables_of_the_docs_are_what_was_measured():
    measured = {
        (row["comparison"], row["on"], row["seeds"]): row
        for row in json.loads(RESULTS.read_text())["rows"]
    }
    tables = DOCS.read_text().split("| pretraining seeds | 2 | 3 | 5 | 10 |")[1:3]
    lines = re.compile(r"^\| (\*{0,2}Welch\*{0,2}|multi-bootstrap), (.+?) \|(.+)\|$", re.M)
    checked = 0
    for comparison, table in zip(("A/A", "A/B"), tables, strict=True):
        for name, on, cells in lines.findall(table):
            shared = ", shared" if on.startswith("same") else ""
            for seeds, cell in zip((2, 3, 5, 10), cells.split("|"), strict=True):
                row = measured[comparison + shared, ROWS[on], seeds]
                holds = row["multi-bootstrap" if name.startswith("multi") else "welch"]["holds"]
                printed = 100 - float(cell) if comparison == "A/A" else float(cell)
                assert printed == pytest.approx(holds, abs=0.01)
                checked += 1
    assert checked == 56
