"""The page of the board: drawings of intervals, escaped text, and filters in a real browser."""

from dataclasses import replace
from pathlib import Path

import pytest

from harness.report.findings.board import Evidence, findings
from harness.report.findings.html import figure_of, interval, page
from tests.browser import look, needs_chromium

FOUND = Evidence(
    report="part/study",
    claims=("E1",),
    expectation="a > b",
    verdict="confirmed",
    difference=30.0,
    unit="points",
    low=-15.0,
    high=90.0,
    p_value=0.001,
    num_seeds=3,
    reason="",
)
ROWS = [
    FOUND,
    replace(FOUND, claims=("E1", "E24"), report="part/other", verdict="refuted"),
    *[replace(FOUND, claims=("E25",), expectation=f"arm {i} > b") for i in range(6)],
    replace(FOUND, claims=("E2",), expectation="<script>alert(1)</script> > b"),
]


def test_intervals_are_drawn_to_scale_and_cut_at_the_ends() -> None:
    assert interval(FOUND) == (45.0, 90.0, 120.0)  # 120 pixels from -60 to +60 points
    assert interval(replace(FOUND, unit="nats")) is None
    assert interval(replace(FOUND, low=None)) is None


def test_a_figure_stands_for_a_report(tmp_path: Path) -> None:
    assert figure_of(tmp_path) == ""
    for name in ("loss.svg", "averages.svg"):
        (tmp_path / name).touch()
        assert figure_of(tmp_path) == name


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("board") / "findings.html"
    reports = out.parent / "reports"
    (reports / "part/study").mkdir(parents=True)
    (reports / "part/study/averages.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    out.write_text(page(findings(ROWS), reports, out))
    return out


def test_text_is_escaped_and_links_are_relative(written: Path) -> None:
    text = written.read_text()
    assert "&lt;script&gt;alert(1)" in text and "<script>alert" not in text
    assert 'href="reports/part/study/README.md"' in text
    assert 'src="reports/part/study/averages.svg"' in text
    assert "reports/part/other/averages.svg" not in text
    assert "<summary>2 more confirmed</summary>" in text


@needs_chromium
def test_filters_in_a_browser(written: Path) -> None:
    script = """
      const shown = () => [...document.querySelectorAll("tr[id]")]
        .filter((row) => row.offsetParent).map((row) => row.id);
      const form = document.querySelector("form.tools"), seen = {};
      const set = (name, value) => {
        form.elements[name].value = value;
        form.elements[name].dispatchEvent(new Event("input", { bubbles: true }));
      };
      seen.all = shown().length;
      set("verdict", "mixed"); seen.mixed = shown(); seen.hash = location.hash;
      set("verdict", ""); set("report", "part/other"); seen.other = shown();
      set("report", ""); set("search", "ARM 5"); seen.found = shown();
      seen.sections = [...document.querySelectorAll("section")].filter((one) => !one.hidden).length;
      seen.count = document.querySelector("output").value;
      set("search", ""); set("area", "Pretraining against none"); seen.area = shown().slice(0, 2);
      location.hash = "#verdict=refuted";
      await new Promise((done) => setTimeout(done, 100));
      seen.linked = shown();
      location.hash = "#E25";
      await new Promise((done) => setTimeout(done, 100));
      seen.again = shown().length;
      seen.wide = (await shownAt(390)).scrollWidth;
      return seen;"""
    seen = look(written, script)
    assert seen["all"] == seen["again"] == 133
    assert seen["mixed"] == ["E1"] and seen["hash"] == "#verdict=mixed"
    assert seen["other"] == ["E1", "E24"] and seen["linked"] == ["E24"]
    assert seen["found"] == ["E25"] and seen["sections"] == 1
    assert seen["count"] == "1 of 133 claims"
    assert seen["area"] == ["E1", "E2"]
    assert seen["wide"] <= 390
