"""How all figures of a report look: one width, colours for all eyes, legends that fit."""

import io
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogFormatter

# Okabe and Ito 2008: told apart with every common kind of colour blindness; markers and dashes tell
# arms apart in print without colour.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
DASHES = ("-", "--", "-.", ":")
GREY = "#6b6b6b"
WIDTH = 4.6
"""Inches: on a phone the letters are still 9 pixels high."""
LINE = 0.2
"""Inches of height of a line of a legend."""
KEY, LETTER = 0.55, 0.075
"""Inches of width of a key in a legend, with its margins, and of a letter."""
LONGEST = 36
"""Letters of a name; the middle of longer ones is left out."""
END, MIDDLE = 8, 18
"""Letters that are left of names whose ends are alike: at each end, and where they differ."""
EXPLAINED = "explained:"
"""Marks in an id, of which nothing else begins so, what `as_svg` makes a title."""
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


def canvas(height: float, names: Sequence[str] = ()) -> tuple[Figure, Axes]:
    """A panel of `height` inches, under room for a legend of `names`."""
    figure = Figure(figsize=(WIDTH, height + legend_height(names)), layout="constrained")
    return figure, figure.subplots()


def row_canvas(
    names: Sequence[str], bold: Sequence[bool], row: float, size: float
) -> tuple[Figure, Axes, list[float]]:
    """A panel with a named row for each of `names`, from the top down, and where they lie.

    Args:
        names: of one line or more.
        bold: which of them are.
        row: inches of height of a row of one line.
        size: of the letters, in points.
    """
    lines = np.array([1 + 0.75 * name.count("\n") for name in names])
    bottoms = np.cumsum(lines)
    figure, axes = canvas(0.8 + row * bottoms[-1])
    places = (bottoms - lines / 2).tolist()
    axes.set_yticks(places, names, fontsize=size)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(bottoms[-1], 0)
    axes.grid(axis="x")
    for tick, heavy in zip(axes.get_yticklabels(), bold, strict=True):
        tick.set_fontweight("bold" if heavy else "normal")
    return figure, axes, places


class LogTicks(LogFormatter):
    """Numbers of a logarithmic axis, in plain text: those of matplotlib are mathematics."""

    def __init__(self, text: Callable[[float], str]) -> None:
        super().__init__()
        self.text = text

    def __call__(self, x: float, pos: int | None = None) -> str:
        return self.text(x) if super().__call__(x, pos) else ""


def log_scale(axes: Axes, text: Callable[[float], str]) -> None:
    """Makes the x axis logarithmic, with numbers as `text` says them."""
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(LogTicks(text))
    axes.xaxis.set_minor_formatter(LogTicks(text))


def legend_above(figure: Figure, drawn: Mapping[str, Any]) -> None:
    """Names what is drawn above all panels, in as many columns as fit. Labels of artists would not
    do: matplotlib hides those that begin with `_`."""
    names = list(drawn)
    if names:
        columns = _legend_columns(names)
        figure.legend(list(drawn.values()), names, loc="outside upper left", ncols=columns)


def legend_height(names: Sequence[str]) -> float:
    """Inches; nothing without names."""
    return LINE * math.ceil(len(names) / _legend_columns(names)) if names else 0.0


def _legend_columns(names: Sequence[str]) -> int:
    return max(1, min(4, int(WIDTH / (KEY + LETTER * max(map(len, names))))))


def shortened(names: Iterable[str]) -> dict[str, str]:
    """Each of `names` to the same without its middle where it is long, or without all but where
    they differ where that would make two the same; no two have one text."""
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
    """How many letters they all begin with."""
    letters = enumerate(zip(*names, strict=False))
    return next((i for i, of in letters if len(set(of)) > 1), min(map(len, names)))


def _cut(name: str, longest: int) -> str:
    half = (longest - 1) // 2
    return name if len(name) <= longest else f"{name[:half]}…{name[-half:]}"


def explain(artist: Artist, text: str) -> None:
    """Shows `text` where a pointer rests on what is drawn; all else that explains itself fades."""
    artist.set_gid(EXPLAINED + text)


def as_svg(figure: Figure, name: str) -> str:
    """The figure as an `svg` element that fits its place, its ids apart from other figures'."""
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    svg = text.getvalue()
    svg = svg[svg.index("<svg") :]
    # An attribute with double quotes inside stands between single ones.
    svg = re.sub(
        rf"(?s)<g id=([\"']){EXPLAINED}(.*?)\1>", r'<g class="explained"><title>\2</title>', svg
    )
    svg = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{name}-", svg)
    return "\n".join(line.rstrip() for line in svg.splitlines()) + "\n"
