"""A table as an html figure."""

from typing import TYPE_CHECKING

from harness.leaderboard.cells import all_notes, heading, marked_blocks
from harness.leaderboard.table import Table, metrics_label

if TYPE_CHECKING:
    import jinja2

HTML = """<figure class="leaderboard">
{%- macro head() %}
<thead><tr><th scope="col">rank</th><th scope="col">arm</th><th scope="col">average</th>
{%- for column in table.columns %}
<th scope="col">{{ column.name }}<br><small>{{ metrics(column) }}</small></th>
{%- endfor %}<th scope="col">seeds</th>
{%- for name in table.more_heads %}<th scope="col">{{ name }}</th>{% endfor %}</tr></thead>
{%- endmacro %}
{%- macro line(row, kind, mark="") %}
<tr class="{{ kind }}"><td>{{ row.rank or "" }}</td><th scope="row">{{ row.name }}{{ mark }}</th>
{%- for score in (row.average,) + row.scores %}
{%- if score %}<td{% if loop.first %} class="average"{% endif %}>
{%- if score.best %}<b>{{ "%.1f"|format(score.mean) }}</b>
{%- else %}{{ "%.1f"|format(score.mean) }}{% endif %}
{%- if score.sd is not none %}<small> ± {{ "%.1f"|format(score.sd) }}</small>{% endif %}</td>
{%- else %}<td>–</td>{% endif %}
{%- endfor %}<td>{{ row.seeds }}</td>
{%- for cell in table.more_cells(row) %}<td>{{ cell }}</td>{% endfor %}</tr>
{%- endmacro %}
{%- macro group(mark, block) %}
<tbody class="published"><tr><th colspan="{{ table.width }}" scope="rowgroup">
{{- heading(mark, block) }}</th></tr>
{%- for row in block.rows %}{{ line(row, "published", mark) }}{% endfor %}
</tbody>
{%- endmacro %}
<div class="scroll" role="region" aria-label="Leaderboard" tabindex="0"><table>
{{- head() }}
<tbody>
{%- for row in table.rows %}{{ line(row, "measured") }}{% endfor %}
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
        notes=all_notes(table),
        metrics=metrics_label,
        heading=heading,
    )


def html_template(text: str) -> "jinja2.Template":
    """A template that escapes every value, and refuses missing ones."""
    import jinja2

    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    return environment.from_string(text)
