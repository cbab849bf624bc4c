"""Style of all figures: width, colours for colour-blind readers, legends."""

import io
import math
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import LogFormatter

# Okabe and Ito 2008: distinguishable with all common kinds of colour blindness; markers and dashes
# distinguish arms in print without colour.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
DASHES = ("-", "--", "-.", ":")
GREY = "#6b6b6b"
WIDTH = 4.6
"""Inches; on a phone, letters are still 9 pixels high."""
LINE = 0.2
"""Height of a legend line, in inches."""
KEY, LETTER = 0.55, 0.075
"""Widths of a legend key with its margins and of a letter, in inches."""
LONGEST = 36
"""Maximum letters of a name; the middle of longer ones is omitted."""
END, MIDDLE = 8, 18
"""Letters kept of names with equal ends: at each end, and where they differ."""
EXPLAINED = "explained:"
"""Prefix of ids that `as_svg` turns into titles."""
# Attributes that contain double quotes are in single quotes.
_TOOLTIP = re.compile(
    rf"(?s)<g id=(?P<quote>[\"']){EXPLAINED}(?P<text>.*?)(?P=quote)(?P<is_empty>/?)>"
)
STYLE: dict[Any, Any] = {
    "svg.hashsalt": "report",
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": GREY,
    "axes.axisbelow": True,
    "grid.color": "#e3e3e3",
    "legend.frameon": False,
    "text.parse_math": False,  # an arm's name may have dollars
}


def arm_style(number: int) -> tuple[str, str, str]:
    """Colour, marker and dashes of the arm with this number. Colour and dashes together are
    different for 28 arms, colour and marker, as of dots, for 49."""
    round_of_colours, place = divmod(number, len(COLOURS))
    marker = MARKERS[(place + round_of_colours) % len(MARKERS)]
    return COLOURS[place], marker, DASHES[number % len(DASHES)]


def panels(
    rows: int, height: float, names: Iterable[str] = (), columns: int = 1, sharey: bool = False
) -> tuple[Figure, list[Axes]]:
    """A figure with `rows` x `columns` panels below a legend.

    Args:
        height: of a panel, in inches.
        names: in the legend.
        sharey: whether panels beside each other share their y axis.
    """
    size = (WIDTH, height * rows + legend_height(list(names)))
    figure = Figure(figsize=size, layout="constrained")
    return figure, list(
        figure.subplots(rows, columns, squeeze=False, sharey="row" if sharey else False).ravel()
    )


def row_canvas(
    names: Sequence[str], bold: Sequence[bool], row: float, size: float
) -> tuple[Figure, Axes, list[float]]:
    """A panel with a row for each of `names`, and the y coordinates of the rows.

    Args:
        names: may have several lines.
        bold: whether each name is bold.
        row: height of a row with one line, in inches.
        size: font size in points.
    """
    lines = np.array([1 + 0.75 * name.count("\n") for name in names])
    bottoms = np.cumsum(lines)
    figure, (axes,) = panels(1, 0.8 + row * bottoms[-1])
    places = (bottoms - lines / 2).tolist()
    axes.set_yticks(places, names, fontsize=size)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(bottoms[-1], 0)
    axes.grid(axis="x")
    for tick, heavy in zip(axes.get_yticklabels(), bold, strict=True):
        tick.set_fontweight("bold" if heavy else "normal")
    return figure, axes, places


def widen(axes: Axes, least: float) -> None:
    """Makes the x axis at least `least` wide, with its middle where it was."""
    low, high = axes.get_xlim()
    if (missing := least - (high - low)) > 0:
        axes.set_xlim(low - missing / 2, high + missing / 2)


class LogTicks(LogFormatter):
    """Numbers of a logarithmic axis as plain text, not as math text, and none that overlap."""

    def __init__(self, text: Callable[[float], str]) -> None:
        super().__init__()
        self.text = text

    def __call__(self, x: float, pos: int | None = None) -> str:
        assert self.axis  # it formats the numbers of an axis
        low, high = sorted(self.axis.get_view_interval())
        spread = _spread_numbers(low, high) if low > 0 else []
        is_spread = any(math.isclose(x, number) for number in spread)
        is_shown = is_spread if len(spread) > 1 else super().__call__(x, pos)
        return self.text(x) if is_shown else ""


def _spread_numbers(low: float, high: float) -> list[float]:
    """The powers of ten on a logarithmic axis; if it has at most one, other numbers that lie at
    about equal distances."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    found: list[float] = []
    for digits in ((1,), (1, 3) if high > 10 * low else (1, 2, 5)):
        numbers = (digit * 10.0**power for power in powers for digit in digits)
        found = [number for number in numbers if low <= number <= high]
        if len(found) > 1:
            break
    return found


def log_scale(axes: Axes, text: Callable[[float], str], axis: Literal["x", "y"] = "x") -> None:
    """Makes an axis logarithmic, with numbers formatted by `text`."""
    axes.set(**{f"{axis}scale": "log"})
    ticks = axes.xaxis if axis == "x" else axes.yaxis
    ticks.set_major_formatter(LogTicks(text))
    ticks.set_minor_formatter(LogTicks(text))


def legend_above(figure: Figure, drawn: Mapping[str, Any]) -> None:
    """Adds a legend above all panels, in as many columns as fit.

    Args:
        drawn: name to artist. Labels of artists do not work: matplotlib hides those that start with
            `_`.
    """
    names = list(drawn)
    if names:
        columns = _legend_columns(names)
        figure.legend(list(drawn.values()), names, loc="outside upper left", ncols=columns)


def legend_height(names: Sequence[str]) -> float:
    """Height of a legend in inches; 0 without names."""
    return LINE * math.ceil(len(names) / _legend_columns(names)) if names else 0.0


def _legend_columns(names: Sequence[str]) -> int:
    return max(1, min(4, int(WIDTH / (KEY + LETTER * max(map(len, names))))))


def shortened(names: Iterable[str]) -> dict[str, str]:
    """Name to a unique short form: long names lose their middle, or, if that makes some equal, all
    but the part in which they differ."""
    texts = {name: _cut(name, LONGEST) for name in names}
    for text, count in Counter(texts.values()).items():
        if count > 1:
            alike = [name for name in texts if texts[name] == text]
            start, end = _shared(alike), _shared([name[::-1] for name in alike])
            for name in alike:
                differs = _cut(name[start : len(name) - end], MIDDLE)
                texts[name] = f"{name[:END]}…{differs}…{name[-END:]}"
    seen: Counter[str] = Counter()
    for name, text in texts.items():
        seen[text] += 1
        texts[name] = text if seen[text] == 1 else f"{text} ({seen[text]})"
    return texts


def _shared(names: Sequence[str]) -> int:
    """Length of the common prefix."""
    letters = enumerate(zip(*names, strict=False))
    return next((i for i, of in letters if len(set(of)) > 1), min(map(len, names)))


def _cut(name: str, longest: int) -> str:
    half = (longest - 1) // 2
    return name if len(name) <= longest else f"{name[:half]}…{name[-half:]}"


def explain(artist: Artist, text: str) -> None:
    """Shows `text` as a tooltip of an artist, while all other artists with tooltips fade."""
    artist.set_gid(EXPLAINED + text)


def as_svg(figure: Figure, name: str) -> str:
    """The figure as a scalable `svg` element, its ids prefixed with `name`."""
    text = io.StringIO()
    with warnings.catch_warnings():  # of letters that Matplotlib's font lacks: readers draw them
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        _place_axes(figure)
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    svg = text.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = _TOOLTIP.sub(_with_title, svg)
    svg = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{name}-", svg)
    return "\n".join(line.rstrip() for line in svg.splitlines()) + "\n"


def _with_title(group: re.Match[str]) -> str:
    """The begin of a group with its text as a title; empty of a group without content, as of an arm
    without scores."""
    return "" if group["is_empty"] else f'<g class="explained"><title>{group["text"]}</title>'


def _place_axes(figure: Figure) -> None:
    """Places the axes once. `savefig` would draw a figure twice, the first time to place them."""
    FigureCanvasSVG(figure)  # whose letters have the widths that the file will have
    if engine := figure.get_layout_engine():
        engine.execute(figure)
        figure.set_layout_engine()  # none
