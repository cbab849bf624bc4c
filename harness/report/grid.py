"""A table as both forms of the report take it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Grid:
    """A plain table of text."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    text_columns: Sequence[int] = (0,)


@dataclass(frozen=True)
class Plot:
    """A figure and what it shows, in words."""

    svg: Any
    caption: str
