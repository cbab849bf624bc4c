"""The figure of the lengths of documents."""

from collections.abc import Mapping

import matplotlib
import numpy as np

from harness.data.corpora.statistics import CorpusStatistics
from harness.report.figures import style

PANEL = 2.4
"""Height of the panel, in inches."""
NUM_BINS = 40


def lengths(corpora: Mapping[str, CorpusStatistics]) -> str:
    """The share of the words of each corpus by the length of their document, as SVG."""
    longest = max(max(one.lengths, default=1) for one in corpora.values())
    edges = np.geomspace(1, longest + 1, NUM_BINS)
    with matplotlib.rc_context(style.STYLE):
        short = style.shortened(list(corpora))
        figure, (axes,) = style.panels(1, PANEL, short.values())
        drawn = {}
        for number, (name, one) in enumerate(corpora.items()):
            colour, _, dash = style.arm_style(number)
            words = np.array(one.lengths)
            shares, _ = np.histogram(words, edges, weights=words / max(1, words.sum()))
            drawn[short[name]] = axes.stairs(100 * shares, edges, color=colour, linestyle=dash)
        style.log_scale(axes, "{:,.0f}".format)
        axes.set_xlabel("words of a document")
        axes.set_ylabel("% of all words")
        axes.grid(axis="y")
        style.legend_above(figure, drawn)
        return style.as_svg(figure, "lengths")
