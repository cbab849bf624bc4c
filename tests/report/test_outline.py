"""A section is added to both formats of the report by one function and one line of the outline."""

from collections.abc import Callable
from pathlib import Path

import pytest

from harness.analysis.frames.scores import scores_frame
from harness.analysis.results import Results
from harness.leaderboard.text_tables import TextTable
from harness.report import outline
from harness.report.layout import Plot, Section
from harness.report.page import write_report
from tests.made_up_results import MadeUpResults


def toy_section(results: Results) -> Section | None:
    """The number of scores of each arm."""
    counts = results.get(scores_frame)["arm"].value_counts().sort_index()
    if counts.empty:
        return None
    rows = [[str(arm), str(count)] for arm, count in counts.items()]
    plots = {"toy": Plot("<svg>toy</svg>\n", "A toy figure.")}
    return Section("Toy", ["A toy note."], plots, {"Scores": TextTable(["arm", "scores"], rows)})


def test_a_new_section_needs_a_function_and_a_line_in_the_outline(
    fabricate: Callable[..., MadeUpResults], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = fabricate({"good": 0.9, "bad": 0.6}, examples=60)
    write_report(results, tmp_path / "without")
    monkeypatch.setattr(outline, "SECTIONS", (*outline.SECTIONS, toy_section))
    write_report(results, tmp_path / "with")
    readme, page = ((tmp_path / "with" / name).read_text() for name in ("README.md", "index.html"))
    count = (results.scores["arm"] == "good").sum()
    row, cell = f"| good | {count} |", f"<td>{count}</td>"
    for part in ("<b>Toy</b>", "A toy note.", "![A toy figure.](toy.svg)", "Scores:", row):
        assert part in readme
    for part in ("Toy</h2>", "A toy note.", "<svg>toy</svg>", "<h3>Scores</h3>", cell):
        assert part in page
    assert '<div id="toy">' in page
    assert (tmp_path / "with" / "toy.svg").read_text() == "<svg>toy</svg>\n"
    assert "Toy" not in (tmp_path / "without" / "README.md").read_text()


def test_a_section_without_content_is_left_out(fabricate: Callable[..., MadeUpResults]) -> None:
    results = fabricate({"good": 0.9}, examples=60)
    empty = results.but(scores=results.scores.iloc[:0])
    assert toy_section(empty) is None
    assert all(section.title for section in outline.sections(empty))
    titles = [section.title for section in outline.sections(results)]
    assert "Spread over seeds" in titles and "Forgetting" not in titles
