"""Figures with many or long names: all names are inside the figure and leave room for the panel."""

import re
import warnings
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter

from harness.data.corpora.statistics import CorpusStatistics
from harness.report.figures.adaptation import count_curves, forgetting_maps, layer_lines
from harness.report.figures.corpus import lengths
from harness.report.figures.cost import fronts
from harness.report.figures.differences import search_curves, seed_spread
from harness.report.figures.pretraining import (
    learning_curves,
    loss_and_score,
    loss_curves,
    loss_rows,
)
from harness.report.figures.style import (
    LONGEST,
    STYLE,
    WIDTH,
    arm_style,
    as_svg,
    explain,
    legend_above,
    log_scale,
    panels,
    row_canvas,
    shortened,
)

MANY = [f"learning_rate=0.00{i}/decaying" for i in range(24)]


@pytest.fixture(autouse=True)
def style():
    with matplotlib.rc_context(STYLE):
        yield


def drawn(figure: Any) -> Any:
    """The figure as it is printed, with the places of all its parts."""
    FigureCanvasAgg(figure).draw()
    return figure.get_window_extent()


def inside_panel(label: Any, axes: Any) -> bool:
    low, high = axes.get_xlim()
    return bool(low <= label.get_position()[0] <= high)


def inside(part: Any, whole: Any) -> bool:
    box = part.get_window_extent()
    return whole.x0 <= box.x0 and box.x1 <= whole.x1 and whole.y0 <= box.y0 and box.y1 <= whole.y1


@pytest.mark.parametrize("names", [["a"], ["bert", "roberta"], MANY[:5], MANY])
def test_a_legend_stands_inside_above_a_panel_of_its_height(names):
    figure, (axes,) = panels(1, 2.8, names)
    legend_above(figure, {name: axes.plot([0, 1])[0] for name in names})
    whole = drawn(figure)
    assert inside(figure.legends[0], whole)
    height = axes.get_window_extent().height / figure.dpi
    assert height == pytest.approx(2.4, abs=0.3)  # inches; ticks take the rest


def test_a_row_for_each_name_and_half_of_the_width_for_the_panel():
    names = ["one", f"{MANY[0]}\n− {MANY[1]}", "three"]
    figure, axes, places = row_canvas(names, [True, False, False], row=0.2, size=9)
    assert places == [0.5, 1 + 1.75 / 2, 3.25]
    whole = drawn(figure)
    assert all(inside(label, whole) for label in axes.get_yticklabels())
    assert axes.get_window_extent().width > 0.4 * WIDTH * figure.dpi
    assert [label.get_fontweight() for label in axes.get_yticklabels()] == ["bold", *["normal"] * 2]


def test_arms_differ_as_lines_and_as_dots() -> None:
    """Of nine arms, the first and the eighth were blue circles in figures of dots alone."""
    styles = [arm_style(number) for number in range(49)]
    assert len({(colour, dash) for colour, _, dash in styles[:28]}) == 28
    assert len({(colour, marker) for colour, marker, _ in styles}) == 49
    assert len({marker for _, marker, _ in styles[:7]}) == 7


def test_long_names_lose_their_middle():
    long = "a" * 40 + "b" * 40
    texts = shortened(["bert", long])
    assert texts == {"bert": "bert", long: "a" * 17 + "…" + "b" * 17}
    assert len(texts[long]) <= LONGEST


def test_names_that_are_alike_at_both_ends_keep_where_they_differ():
    decays = ("linear", "cosine")
    start, end = "pretrain_learning_rate=0.001,decay=", ",warmup_fraction=0.06"
    names = [f"{start}{decay}{end}" for decay in decays]
    texts = list(shortened(names).values())
    assert [decay in text for decay, text in zip(decays, texts, strict=True)] == [True, True]
    assert all(len(text) <= LONGEST for text in texts)


@pytest.mark.parametrize(
    "names",
    [
        ["a" * 40, "a" * 41, "a" * 42],
        [f"{'a' * 30}{i}{'b' * 30}{j}{'c' * 30}" for i in range(3) for j in range(3)],
    ],
)
def test_no_two_names_are_shortened_to_one(names):
    assert len(set(shortened(names).values())) == len(names)


HOSTILE = [r"a $\foo$ b", "_a", "_b", "$x$", "a\nb", '<i> & "c"']


def curves() -> pd.DataFrame:
    """Of each hostile name: points of every figure with a legend."""
    rows = [(arm, seed, n) for arm in HOSTILE for seed in (0, 1) for n in (1, 2)]
    frame = pd.DataFrame(rows, columns=["arm", "pretrain_seed", "trials"])
    same = dict.fromkeys(
        ("step", "tokens", "labels", "flops", "pretrain_fraction"), frame["trials"]
    )
    floats = dict.fromkeys(("loss", "average", "score", "mean"), frame["trials"] / 2)
    return frame.assign(run=frame["arm"], group=1, column="$SST$", deviation=0.1, **same, **floats)


def losses(points: pd.DataFrame, groups: list[list[str]], costs: list[str]) -> str:
    rows = loss_rows(list(points["run"].unique()), groups)
    return str(loss_curves(points, rows, costs, "loss"))


FIGURES = {
    "search": lambda: search_curves(curves(), HOSTILE),
    "label_counts": lambda: count_curves(curves()),
    "layers": lambda: layer_lines({"$t$": pd.DataFrame(1.0, HOSTILE, ["embeddings", "layer 1"])}),
    "forgetting": lambda: forgetting_maps(
        {arm: pd.DataFrame(50.0, ["_t", "$t$"], ["_t", "$t$"]) for arm in HOSTILE}
    ),
    "loss": lambda: losses(curves(), [HOSTILE[:2], HOSTILE[2:3]], ["tokens"]),
    "learning": lambda: learning_curves(curves(), HOSTILE, ["tokens"], "learning"),
    "transfer": lambda: loss_and_score(curves(), HOSTILE),
    "costs": lambda: fronts(curves().drop_duplicates("arm"), {"flops": [True] * len(HOSTILE)}),
    "lengths": lambda: lengths({arm: CorpusStatistics(lengths=[3, 50, 4000]) for arm in HOSTILE}),
    "seeds": lambda: seed_spread({"_$x$": {arm: np.ones(2) for arm in HOSTILE}}, HOSTILE),
}


@pytest.mark.parametrize(
    ("groups", "titles"),
    [
        ([], []),
        ([["a"], ["b"], ["c", "d"], ["e"]], ["comparable held-out losses (1)", "others"]),
        ([["c", "absent"], ["e"]], []),
        ([["a", "b", "c", "d", "e"]], []),
        (
            [["a", "c", "e"], ["b", "d"]],
            ["comparable held-out losses (1)", "comparable held-out losses (2)"],
        ),
    ],
)
def test_losses_of_one_kind_share_panels(groups: list[list[str]], titles: list[str]) -> None:
    """On one axis, losses of other kinds hid those that can be compared."""
    points = curves().replace({"run": dict(zip(HOSTILE, "abcdef", strict=True))})
    points = points[points["run"] != "f"]
    root = ElementTree.fromstring(losses(points, groups, ["tokens", "flops"]))
    texts = ["".join(text.itertext()).strip() for text in root.iterfind(".//{*}text")]
    rows = max(1, len(titles))
    assert [text for text in texts if text in {*titles, "others"}] == titles
    assert texts.count("pretraining tokens") == texts.count("training loss (nats)") == rows
    assert [text for text in texts if text in "abcde"] == list("abcde")  # each once, in the legend


@pytest.mark.parametrize(
    ("lowest", "highest", "numbers"),
    [(0.1, 12.0, ["0.1", "1", "10"]), (2.0, 8.0, [str(number) for number in range(2, 9)])],
)
def test_losses_far_apart_have_a_logarithmic_axis(
    lowest: float, highest: float, numbers: list[str]
) -> None:
    points = curves().assign(loss=np.linspace(lowest, highest, 24))
    root = ElementTree.fromstring(losses(points, [], ["tokens"]))
    texts = ["".join(text.itertext()).strip() for text in root.iterfind(".//{*}text")]
    after = texts[texts.index("pretraining tokens") + 1 : texts.index("training loss (nats)")]
    assert after == numbers


@pytest.mark.parametrize(
    ("hours", "last"),
    [(0.1, ["6", "minutes of pretraining"]), (2.0, ["2.00", "hours of pretraining"])],
)
def test_short_runs_are_shown_by_minutes(hours: float, last: list[str]) -> None:
    points = curves().assign(hours=np.tile([0.0, hours], 12))
    root = ElementTree.fromstring(losses(points, [], ["hours"]))
    texts = ["".join(text.itertext()).strip() for text in root.iterfind(".//{*}text")]
    end = texts.index(last[-1]) + 1
    assert texts[end - 2 : end] == last


def test_a_heat_map_has_no_negative_zero() -> None:
    frame = pd.DataFrame([[-0.2, -3.4]], ["_t"], ["_t", "$t$"])
    root = ElementTree.fromstring(str(forgetting_maps({"bert": frame})))
    texts = ["".join(text.itertext()).strip() for text in root.iterfind(".//{*}text")]
    assert "0" in texts and "−3" in texts and not any("-" in text for text in texts)


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_names_every_arm_whatever_it_is_called(name):
    svg = FIGURES[name]()
    assert svg and "explained:" not in svg
    root = ElementTree.fromstring(svg)
    texts = ["".join(text.itertext()).strip() for text in root.iterfind(".//{*}text")]
    for arm in HOSTILE:
        assert all(line in texts for line in arm.split("\n")), arm
    assert not any("mathdefault" in text for text in texts)  # numbers of axes


def test_seeds_stand_in_a_row_named_by_their_arm():
    scores = {"SST-2": {arm: np.array([50.0, 60.0]) for arm in MANY}}
    svg = seed_spread(scores, MANY)
    assert svg and all(f">{arm}<" in svg for arm in [*MANY, "SST-2"])
    assert seed_spread({"SST-2": {arm: np.array([]) for arm in MANY}}, MANY) is None


@pytest.mark.parametrize(("high", "labels"), [(50.06, 6), (90.0, 9)])
def test_numbers_of_scores_do_not_overlap(high: float, labels: int) -> None:
    """Those of an axis of less than a point would have two decimals."""
    svg = seed_spread({"SST-2": {arm: np.array([50.01, high]) for arm in MANY}}, MANY)
    numbers = re.findall(r">(\d+\.?\d*)</text>", str(svg))
    assert len(numbers) <= labels and max(map(len, numbers)) <= 4


@pytest.mark.parametrize(
    ("low", "high", "labels"),
    [
        (1e6, 1e8, ["1M", "10M", "100M"]),
        (250e3, 2e6, ["500k", "1M", "2M"]),
        (150e3, 7e6, ["300k", "1M", "3M"]),
        (450e3, 1.2e6, ["500k", "1M"]),
        (0.0015, 0.012, ["2m", "5m", "10m"]),
        (0.0021, 0.0049, ["3m", "4m"]),
    ],
)
def test_numbers_of_a_logarithmic_axis_do_not_overlap(
    low: float, high: float, labels: list[str]
) -> None:
    figure, grid = panels(1, 2.8, columns=2)
    axes = grid[0]
    axes.plot([low, high], [0, 1])
    log_scale(axes, EngFormatter(sep=""))
    drawn(figure)
    texts = [t for minor in (False, True) for t in axes.get_xticklabels(minor=minor)]
    shown = [text for text in texts if text.get_text() and inside_panel(text, axes)]
    boxes = sorted((text.get_window_extent() for text in shown), key=lambda box: box.x0)
    assert all(left.x1 < right.x0 for left, right in pairwise(boxes))
    assert sorted(text.get_text() for text in shown) == sorted(labels)


def test_a_cost_of_nothing_has_its_number_apart() -> None:
    """Of costs from 1.2G, the number of 100M stood over that of 0."""
    rows = [("scratch", 0.0, 30.0, 1.0), ("glove", 1.2e9, 40.0, 1.0), ("bert", 1.5e12, 60.0, 1.0)]
    points = pd.DataFrame(rows, columns=["arm", "flops", "average", "deviation"])
    svg = fronts(points, {"flops": [True] * 3})
    assert re.findall(r">(\d+[GMT]?)</text>", svg)[:5] == ["0", "1G", "10G", "100G", "1T"]


@pytest.mark.parametrize("text", ["bert", 'a <b> & "c"', "it's", 'it\'s "both"', "$a$ _b"])
def test_artists_have_tooltips(text):
    figure, (axes,) = panels(1, 2.8)
    (line,) = axes.plot([0, 1], "o-")
    explain(line, text)
    (root,) = ElementTree.fromstring(as_svg(figure, "name")).iterfind(".//{*}g[@class='explained']")
    assert root[0].tag.endswith("}title")  # the first child: else no browser shows it
    assert root[0].text == text
    assert len(root) > 1  # what is drawn


def test_an_artist_that_draws_nothing_has_no_tooltip() -> None:
    """As of an arm that cannot do a task. Its empty group took the tooltip of the next one, so that
    the file was no XML and browsers showed a broken image."""
    scores = {"R-1": {"bart": np.array([50.0, 60.0]), "bert": np.array([]), "t5": np.array([70.0])}}
    root = ElementTree.fromstring(str(seed_spread(scores, ["bart", "bert", "t5"])))
    titles = [title.text for title in root.iterfind(".//{*}g[@class='explained']/{*}title")]
    assert titles == ["R-1, bart: 50.0 60.0", "R-1, t5: 70.0"]


def test_names_in_other_scripts_are_drawn_without_a_warning() -> None:
    figure = Figure(layout="constrained")
    figure.subplots().set_title("日本語")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "日本語" in as_svg(figure, "f")
