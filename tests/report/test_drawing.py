"""Figures whose names are many or long: all stand inside, and leave room for what is drawn."""

from typing import Any
from xml.etree import ElementTree

import matplotlib
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from harness.report.figures.drawing import (
    LONGEST,
    STYLE,
    WIDTH,
    as_svg,
    canvas,
    explain,
    legend_above,
    row_canvas,
    shortened,
)
from harness.report.figures.plots import seed_spread

MANY = [f"learning_rate=0.00{i}/decaying" for i in range(24)]


@pytest.fixture(autouse=True)
def style():
    with matplotlib.rc_context(STYLE):
        yield


def drawn(figure: Any) -> Any:
    """The figure as it is printed, with the places of all its parts."""
    FigureCanvasAgg(figure).draw()
    return figure.get_window_extent()


def inside(part: Any, whole: Any) -> bool:
    box = part.get_window_extent()
    return whole.x0 <= box.x0 and box.x1 <= whole.x1 and whole.y0 <= box.y0 and box.y1 <= whole.y1


@pytest.mark.parametrize("names", [["a"], ["bert", "roberta"], MANY[:5], MANY])
def test_a_legend_stands_inside_above_a_panel_of_its_height(names):
    figure, axes = canvas(2.8, names)
    for name in names:
        axes.plot([0, 1], label=name)
    legend_above(figure, axes)
    whole = drawn(figure)
    assert inside(figure.legends[0], whole)
    height = axes.get_window_extent().height / figure.dpi
    assert height == pytest.approx(2.4, abs=0.3)  # inches; ticks take the rest


def test_a_row_for_each_name_and_half_of_the_width_for_the_panel():
    names = ["one", f"{shortened(MANY[0])}\n− {shortened(MANY[1])}", "three"]
    figure, axes, places = row_canvas(names, [True, False, False], row=0.2, size=9)
    assert places == [0.5, 1 + 1.75 / 2, 3.25]
    whole = drawn(figure)
    assert all(inside(label, whole) for label in axes.get_yticklabels())
    assert axes.get_window_extent().width > 0.4 * WIDTH * figure.dpi
    assert [label.get_fontweight() for label in axes.get_yticklabels()] == ["bold", *["normal"] * 2]


def test_long_names_lose_their_middle():
    assert shortened("bert") == "bert"
    long = "a" * 40 + "b" * 40
    assert len(shortened(long)) <= LONGEST
    assert shortened(long) == "a" * 17 + "…" + "b" * 17


def test_seeds_stand_in_a_row_named_by_their_arm():
    scores = {"SST-2": {arm: np.array([50.0, 60.0]) for arm in MANY}}
    svg = seed_spread(scores, MANY)
    assert svg and all(f">{arm}<" in svg for arm in [*MANY, "SST-2"])
    assert seed_spread({"SST-2": {arm: np.array([]) for arm in MANY}}, MANY) is None


@pytest.mark.parametrize("text", ["bert", 'a <b> & "c"', "it's", 'it\'s "both"'])
def test_what_is_drawn_says_what_it_is_where_a_pointer_rests(text):
    figure, axes = canvas(2.8)
    (line,) = axes.plot([0, 1], "o-")
    explain(line, text)
    (root,) = ElementTree.fromstring(as_svg(figure, "name")).iterfind(".//{*}g[@class='explained']")
    assert root[0].tag.endswith("}title")  # the first child: else no browser shows it
    assert root[0].text == text
    assert len(root) > 1  # what is drawn
