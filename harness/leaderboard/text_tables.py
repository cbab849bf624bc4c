"""Plain tables of text with their notes, as markdown, csv, html and latex."""

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from harness.leaderboard.latex import tex, tex_notes
from harness.leaderboard.render import Format, markdown_escape, markdown_table

HTML = """<figure class="sheet">
<div class="scroll" role="region" aria-label="{{ sheet.title }}" tabindex="0"><table>
<caption>{{ sheet.title }}</caption>
<thead><tr>
{%- for cell in sheet.head %}<th scope="col"{{ text(loop.index0) }}>{{ cell }}</th>{% endfor -%}
</tr></thead>
<tbody>
{%- for row in sheet.rows %}
<tr>{% for cell in row %}
{%- if loop.first %}<th scope="row"{{ text(0) }}>{{ cell }}</th>
{%- else %}<td{{ text(loop.index0) }}>{{ cell }}</td>{% endif %}
{%- endfor %}</tr>
{%- endfor %}
</tbody>
</table></div>
{%- if sheet.notes %}
<figcaption>{% for note in sheet.notes %}<p>{{ note }}</p>{% endfor %}</figcaption>
{%- endif %}
</figure>
"""


@dataclass(frozen=True)
class TextTable:
    """A table of text, with a title and notes."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    text_columns: Sequence[int] = (0,)
    """Columns aligned to the left; the others hold numbers."""
    title: str = ""
    notes: Sequence[str] = ()


def render_text_tables(sheets: Sequence[TextTable], format: Format) -> str:
    """Sheets one after the other.

    Raises:
        ValueError: no such format.
    """
    if format not in SHEET_FORMATS:
        raise ValueError(f"unknown format {format!r}; known: {', '.join(SHEET_FORMATS)}")
    return "\n".join(SHEET_FORMATS[format](sheet) for sheet in sheets)


def _markdown(sheet: TextTable) -> str:
    table = markdown_table(sheet.head, sheet.rows, sheet.text_columns)
    notes = [f"- {markdown_escape(note)}" for note in sheet.notes]
    lines = [f"**{markdown_escape(sheet.title)}**", "", *table]
    return "\n".join([*lines, *([""] if notes else []), *notes]) + "\n"


def _comma_separated(sheet: TextTable) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([sheet.head, *sheet.rows])
    return text.getvalue()


def _html(sheet: TextTable) -> str:
    import jinja2
    from markupsafe import Markup

    def text(place: int) -> str:
        return Markup(' class="text"') if place in sheet.text_columns else ""

    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    return environment.from_string(HTML).render(sheet=sheet, text=text)


def _latex(sheet: TextTable) -> str:
    align = "".join("l" if i in sheet.text_columns else "r" for i in range(len(sheet.head)))
    lines = [
        f"% {' '.join(sheet.title.split())}",
        f"\\begin{{tabular}}{{{align}}}",
        "\\toprule",
        " & ".join(tex(cell) for cell in sheet.head) + r" \\",
        "\\midrule",
        *(" & ".join(tex(cell) for cell in row) + r" \\" for row in sheet.rows),
        "\\bottomrule",
        "\\end{tabular}",
    ]
    return "\n".join([*lines, *tex_notes(sheet.notes)]) + "\n"


SHEET_FORMATS: dict[str, Callable[[TextTable], str]] = {
    "md": _markdown,
    "csv": _comma_separated,
    "html": _html,
    "latex": _latex,
}
