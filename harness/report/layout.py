"""Tables, figures and sections as both forms of the report take them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from harness.leaderboard.text_tables import TextTable


@dataclass(frozen=True)
class Plot:
    """A figure and what it shows, in words."""

    svg: Any
    caption: str


@dataclass(frozen=True)
class Section:
    """Notes, figures and tables under one title."""

    title: str
    notes: Sequence[str] = ()
    plots: Mapping[str, Plot] = field(default_factory=dict)
    """By the names of their files, without the ending."""
    tables: Mapping[str, TextTable] = field(default_factory=dict)
    """By what they are said to show; empty for what the title says."""
    folded: Mapping[str, TextTable] = field(default_factory=dict)
    """Long tables, shown when asked for; by what they are said to show."""
