"""The page of examples in a real browser: no error, sorted, filtered, sound at phone width."""

from pathlib import Path

import pandas as pd
import pytest

from harness.report.disagreements.answers import Disagreements
from harness.report.disagreements.page import write_disagreements
from tests.browser import look, needs_chromium

pytestmark = needs_chromium
ROWS = 120


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    frame = pd.DataFrame(
        {
            "split": "validation",
            "index": range(ROWS),
            "text": [f"a text of some length, number {number}" for number in range(ROWS)],
            "label": "good",
            "one: answer": "good",
            "one: right": True,
            "one: share right": [number / ROWS for number in range(ROWS)],
            "two: answer": "tie",
            "two: right": False,
            "two: share right": 0.5,
        }
    )
    found = Disagreements("x", "micro-sst2", "classification", ("one", "two"), frame, 200, {})
    return write_disagreements(found, tmp_path_factory.mktemp("contrast") / "out")


def test_rows_are_sorted_and_filtered(page: Path) -> None:
    script = """
      const indices = () => [...document.querySelectorAll("tbody tr")]
        .filter((row) => row.offsetParent).map((row) => row.querySelector("th").textContent);
      const heads = [...document.querySelectorAll("thead th")];
      const share = heads.find((head) => head.textContent === "one: share right");
      share.firstChild.click(); share.firstChild.click();
      const sorted = [share.getAttribute("aria-sort"), indices()[0]];
      const search = document.getElementById("search");
      search.value = "number 7"; search.dispatchEvent(new Event("input"));
      const winner = document.getElementById("winner");
      const found = indices().length;
      winner.value = "one"; winner.dispatchEvent(new Event("change"));
      return { sorted, found, won: indices(), shown: document.getElementById("count").value };"""
    seen = look(page, script)
    assert seen["sorted"] == ["descending", str(ROWS - 1)]
    assert seen["found"] == 11  # 7 and 70 to 79
    assert sorted(seen["won"]) == [str(number) for number in range(70, 80)]
    assert seen["shown"] == "10 rows"


def test_heads_stay_in_sight_and_name_their_rows_and_columns(page: Path) -> None:
    script = """
      const scroll = document.querySelector(".scroll");
      scroll.scrollTop = 500;
      await new Promise((done) => setTimeout(done, 50));
      const head = document.querySelector("thead th").getBoundingClientRect();
      return { moved: scroll.scrollTop, above: head.top - scroll.getBoundingClientRect().top,
               columns: document.querySelectorAll("thead th[scope=col]").length,
               rows: document.querySelectorAll("tbody th[scope=row]").length,
               main: document.querySelectorAll("main table").length,
               dark: document.querySelector("meta[name=color-scheme]").content,
               wide: (await shownAt(390)).scrollWidth };"""
    seen = look(page, script)
    assert seen["moved"] == 500
    assert abs(seen["above"]) < 1
    assert (seen["columns"], seen["rows"], seen["main"]) == (10, ROWS, 1)
    assert seen["dark"] == "light dark"
    assert seen["wide"] <= 390
