"""Tables of text with a title and notes, as markdown, csv, html and latex."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from harness.core.csv_text import csv_text
from harness.leaderboard.html import html_template
from harness.leaderboard.latex import tabular, tex, tex_notes
from harness.leaderboard.markdown import markdown_escape, markdown_table

Format = Literal["md", "csv", "html", "latex"]

HTML = """<div class="scroll" role="region" aria-label="{{ label }}" tabindex="0"><table
{%- if not caption %} class="plain"{% endif %}>
{%- if caption %}
<caption>{{ caption }}</caption>
{%- endif %}
<thead><tr>
{%- for cell in table.head %}<th scope="col"{{ text(loop.index0) }}>{{ cell }}</th>{% endfor -%}
</tr></thead>
<tbody>
{%- for row in table.rows %}
<tr>{% for cell in row %}
{%- if loop.first %}<th scope="row"{{ text(0) }}>{{ cell }}</th>
{%- else %}<td{{ text(loop.index0) }}>{{ cell }}</td>{% endif %}
{%- endfor %}</tr>
{%- endfor %}
</tbody>
</table></div>"""
FIGURE = """<figure class="sheet">
{{ table }}
{%- if notes %}
<figcaption>{% for note in notes %}<p>{{ note }}</p>{% endfor %}</figcaption>
{%- endif %}
</figure>
"""


@dataclass(frozen=True)
class TextTable:
    """A table whose cells are text."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    text_columns: Sequence[int] = (0,)
    """Left-aligned columns; the others hold numbers."""
    title: str = ""
    notes: Sequence[str] = ()


def render_text_tables(tables: Sequence[TextTable], format: Format) -> str:
    """The tables, one after the other.

    Raises:
        ValueError: an unknown format.
    """
    if format not in TEXT_FORMATS:
        raise ValueError(f"unknown format {format!r}; known: {', '.join(TEXT_FORMATS)}")
    return "\n".join(TEXT_FORMATS[format](table) for table in tables)


def html_table(table: TextTable, label: str, caption: str = "") -> str:
    """The table in a region called `label` that scrolls sideways, without title and notes."""
    from markupsafe import Markup

    def text(place: int) -> str:
        return Markup(' class="text"') if place in table.text_columns else ""

    return html_template(HTML).render(table=table, label=label, caption=caption, text=text)


def _markdown(table: TextTable) -> str:
    notes = [f"- {markdown_escape(note)}" for note in table.notes]
    rows = markdown_table(table.head, table.rows, table.text_columns)
    lines = [f"**{markdown_escape(table.title)}**", "", *rows]
    return "\n".join([*lines, *([""] if notes else []), *notes]) + "\n"


def _comma_separated(table: TextTable) -> str:
    return csv_text([table.head, *table.rows])


def _html(table: TextTable) -> str:
    from markupsafe import Markup

    content = Markup(html_table(table, table.title, table.title))
    return html_template(FIGURE).render(table=content, notes=table.notes)


def _latex(table: TextTable) -> str:
    align = "".join("l" if i in table.text_columns else "r" for i in range(len(table.head)))
    rows = [" & ".join(tex(cell) for cell in row) + r" \\" for row in table.rows]
    lines = [f"% {' '.join(table.title.split())}", *tabular(align, map(tex, table.head), rows)]
    return "\n".join([*lines, *tex_notes(table.notes)]) + "\n"


TEXT_FORMATS: dict[str, Callable[[TextTable], str]] = {
    "md": _markdown,
    "csv": _comma_separated,
    "html": _html,
    "latex": _latex,
}
