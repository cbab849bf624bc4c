"""How all figures of a report look: one width, colours for all eyes, legends that fit."""

import io
import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

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


def legend_above(figure: Figure, axes: Axes) -> None:
    """Names what is drawn in `axes` above all panels, in as many columns as fit."""
    handles, names = axes.get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper left", ncols=_legend_columns(names))


def legend_height(names: Sequence[str]) -> float:
    """Inches; nothing without names."""
    return LINE * math.ceil(len(names) / _legend_columns(names)) if names else 0.0


def _legend_columns(names: Sequence[str]) -> int:
    return max(1, min(4, int(WIDTH / (KEY + LETTER * max(map(len, names))))))


def shortened(name: str) -> str:
    """`name`, without its middle where it is long."""
    half = (LONGEST - 1) // 2
    return name if len(name) <= LONGEST else f"{name[:half]}…{name[-half:]}"


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
        rf"<g id=([\"']){EXPLAINED}(.*?)\1>", r'<g class="explained"><title>\2</title>', svg
    )
    svg = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{name}-", svg)
    return "\n".join(line.rstrip() for line in svg.splitlines()) + "\n"
