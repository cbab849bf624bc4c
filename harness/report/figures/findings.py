"""The figure of the verdicts on claims."""

from collections.abc import Mapping
from typing import Any

import matplotlib

from harness.report.figures import style

COLOURS = {
    "confirmed": "#0072B2",
    "refuted": "#D55E00",
    "mixed": "#E69F00",
    "inconclusive": "#b4b4b4",
    "void": "#dcdcdc",
    "published only": "#CC79A7",
    "not tested": "#ffffff",
}
"""Verdict to colour; of decisions those of Okabe and Ito 2008."""
ROW, SIZE = 0.24, 8.0
"""Height of a row in inches; font size in points."""


def verdicts_by_area(areas: Mapping[str, Mapping[str, int]]) -> str:
    """A bar for each area, divided by verdict.

    Args:
        areas: area to verdict to number of claims.
    """
    short = style.shortened(areas)
    words = [word for word in COLOURS if any(of.get(word) for of in areas.values())]
    with matplotlib.rc_context(style.STYLE):
        heavy = [False] * len(short)
        figure, axes, places = style.row_canvas(list(short.values()), heavy, ROW, SIZE)
        drawn: dict[str, Any] = {}
        ends = [0] * len(areas)
        for word in words:
            numbers = [of.get(word, 0) for of in areas.values()]
            drawn[word] = axes.barh(
                places, numbers, 0.7, ends, color=COLOURS[word], edgecolor=style.GREY, linewidth=0.4
            )
            ends = [end + number for end, number in zip(ends, numbers, strict=True)]
        axes.set_xlabel("claims")
        style.legend_above(figure, drawn)
        return style.as_svg(figure, "verdicts")
