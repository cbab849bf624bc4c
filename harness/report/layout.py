"""Figures and sections, independent of the output format, and the templates that show them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.leaderboard.text_tables import TextTable

if TYPE_CHECKING:
    import jinja2

TEMPLATES = Path(__file__).parent / "templates"
"""Templates of reports, some of them shared with the site and the page of disagreements."""


@dataclass(frozen=True)
class Plot:
    """A figure with its caption."""

    svg: Any = field(repr=False)
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


@cache
def template(
    name: str, folder: Path = TEMPLATES, *, escape: bool = True, trim: bool = False
) -> "jinja2.Template":
    """A template that refuses missing values.

    Args:
        name: of a file in `folder` or TEMPLATES.
        escape: whether values are escaped for HTML.
        trim: whether lines with nothing but a block leave no empty line.
    """
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader([folder, TEMPLATES]),
        autoescape=escape,
        undefined=jinja2.StrictUndefined,
        trim_blocks=trim,
        lstrip_blocks=trim,
    )
    return environment.get_template(name)
