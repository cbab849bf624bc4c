"""A table as an html figure."""

from functools import cache
from typing import TYPE_CHECKING

from harness.leaderboard.cells import (
    all_notes,
    heading,
    marked_blocks,
    number_cell,
    quantity_cells,
    row_marks,
)
from harness.leaderboard.column_labels import metrics_label
from harness.leaderboard.missing import (
    AVERAGE_OF_PUBLISHED,
    NO_AVERAGE,
    NOT_FINISHED,
    OF_IMPORTED,
    OF_PUBLISHED,
    OF_REFERENCES,
)
from harness.leaderboard.table import IMPORTED, Published, Row, Table

if TYPE_CHECKING:
    import jinja2

RANK_INTERVALS = (
    "Place: the places that a row may have by its {} among the rows with two pretraining "
    "seeds or more, jointly for all rows at 95 % confidence (p by Holm's method over all pairs). "
    "Places count rows; ranks count groups of rows that do not differ significantly."
)
HTML = """<figure class="leaderboard">
{%- macro head() %}
<thead><tr><th scope="col">rank</th><th scope="col">arm</th>
{%- if table.shows_average %}<th scope="col">{{ table.average.label }}</th>{% endif %}
{%- for column in table.columns %}
<th scope="col">{{ column.name }}<br><small>{{ metrics(column) }}</small></th>
{%- endfor %}<th scope="col">seeds</th>
{%- if table.has_rank_intervals %}<th scope="col">place</th>{% endif %}
{%- for one in table.quantities %}<th scope="col">{{ one.head }}</th>{% endfor %}</tr></thead>
{%- endmacro %}
{%- macro empty(why) %}<td class="missing"><details><summary aria-label="missing: why">–</summary>
{{- why }}</details></td>{% endmacro %}
{%- macro line(row, kind, mark="", block=none) %}
<tr class="{{ kind }}"
{%- for name, value in (table.facets.get(row.name, {}) if kind == "measured" else {}).items() %}
{{- " " }}data-{{ name }}="{{ value }}"
{%- endfor %}><td>{{ row.rank or "" }}</td><th scope="row">{{ row.name }}
{%- if block and block.citation %} <small>{{ block.citation }}</small>{% endif %}
{%- if mark %}<span>{{ mark }}</span>{% endif %}</th>
{%- set whys = reasons(row, kind, block) %}
{%- for score in table.printed_scores(row) %}
{%- if score %}<td{% if loop.first and table.shows_average %} class="average"{% endif %}>
{%- if score.best %}<b>{{ one_decimal(score.mean) }}</b>
{%- else %}{{ one_decimal(score.mean) }}{% endif %}
{%- if score.sd is not none %}<small> ± {{ one_decimal(score.sd) }}</small>{% endif %}</td>
{%- else %}{{ empty(whys[loop.index0]) }}{% endif %}
{%- endfor %}<td>{{ row.seeds }}</td>
{%- if table.has_rank_intervals %}<td>{{ interval(row) }}</td>{% endif %}
{%- for cell in quantity_cells(table, row) %}<td>{{ cell }}</td>{% endfor %}</tr>
{%- endmacro %}
{%- macro group(mark, block) %}
<tbody class="published"><tr>
{%- set width = table.width + table.has_rank_intervals %}<th colspan="{{ width }}" scope="rowgroup">
{{- heading(mark, block) }}</th></tr>
{%- for row in block.rows %}{{ line(row, "published", mark, block) }}{% endfor %}
</tbody>
{%- endmacro %}
<div class="scroll" role="region" aria-label="Leaderboard" tabindex="0"><table>
{{- head() }}
<tbody>
{%- for row in table.rows %}{{ line(row, "measured", row_marks[row.name]) }}{% endfor %}
{%- for row in table.references %}{{ line(row, "reference") }}{% endfor %}
</tbody>
{%- for mark, block in comparable_blocks %}{{ group(mark, block) }}{% endfor %}
</table></div>
{%- for mark, block in separate_blocks %}
<details>
<summary>{{ heading(mark, block) }}</summary>
<div class="scroll" role="region" aria-label="{{ mark }} {{ block.kind }}" tabindex="0"><table>
{{- head() }}{{ group(mark, block) }}
</table></div>
</details>
{%- endfor %}
<figcaption><details><summary>Notes</summary>
{%- for note in notes %}<p>{{ note }}</p>{% endfor -%}
</details></figcaption></figure>
"""


def html(table: Table) -> str:
    """A `figure` without styles; published rows that are not comparable have a table each."""
    return html_template(HTML).render(
        table=table,
        comparable_blocks=marked_blocks(table, comparable=True),
        separate_blocks=marked_blocks(table, comparable=False),
        notes=[*all_notes(table), *_rank_notes(table)],
        reasons=lambda row, kind, block: _reasons(table, row, kind, block),
        row_marks=row_marks(table),
        interval=_rank_interval,
        quantity_cells=quantity_cells,
        metrics=metrics_label,
        heading=heading,
        one_decimal=lambda score: number_cell(score, "{:.1f}"),
    )


def _rank_notes(table: Table) -> list[str]:
    if not table.has_rank_intervals:
        return []
    return [RANK_INTERVALS.format("average" if table.shows_average else "score")]


def _reasons(table: Table, row: Row, kind: str, block: Published | None) -> list[str]:
    """Why the printed cells of scores would be empty."""
    if block and block.kind == IMPORTED:
        average, columns = NO_AVERAGE, [OF_IMPORTED] * len(table.columns)
    elif kind == "reference":
        average, columns = OF_REFERENCES, [OF_REFERENCES] * len(table.columns)
    elif kind == "published":
        average, columns = AVERAGE_OF_PUBLISHED, [OF_PUBLISHED] * len(table.columns)
    else:
        known = table.missing.get(row.name, {})
        average = NO_AVERAGE
        columns = [known.get(column.name, NOT_FINISHED) for column in table.columns]
    return [average, *columns] if table.shows_average else columns


def _rank_interval(row: Row) -> str:
    if row.rank_interval is None:
        return ""
    low, high = row.rank_interval
    return str(low) if low == high else f"{low} to {high}"


@cache
def html_template(text: str) -> "jinja2.Template":
    """A template that escapes every value, and refuses missing ones."""
    import jinja2

    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    return environment.from_string(text)
