"""Figures and sections, independent of the output format."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from harness.leaderboard.text_tables import TextTable


@dataclass(frozen=True)
class Plot:
    """A figure with its caption."""

    svg: Any
    caption: str

    def _repr_svg_(self) -> str:
        """What a notebook shows."""
        return str(self.svg)


@dataclass(frozen=True)
class Section:
    """Notes, figures and tables under one title."""

    title: str
    notes: Sequence[str] = ()
    plots: Mapping[str, Plot] = field(default_factory=dict)
    """By file name, without the ending."""
    tables: Mapping[str, TextTable] = field(default_factory=dict)
    """By caption; an empty one adds nothing to the title."""
    folded: Mapping[str, TextTable] = field(default_factory=dict)
    """Long tables, hidden until opened; by caption."""
