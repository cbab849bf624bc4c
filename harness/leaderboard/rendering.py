"""A table as markdown, csv, html or latex. Equal tables give equal bytes."""

import csv
import io
from collections.abc import Callable, Sequence
from typing import Literal

from harness.leaderboard.tables import (
    Row,
    Score,
    Table,
    column_label,
    metrics_label,
)

Format = Literal["md", "csv", "html", "latex"]
MISSING = "–"
DAGGER = "†"
BACKSLASH = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
LATEX_ESCAPES = str.maketrans({**{c: f"\\{c}" for c in "&%$#_{}"}, **BACKSLASH})

HTML = """<figure class="leaderboard">
<div class="scroll" role="region" aria-label="Leaderboard" tabindex="0"><table>
<thead><tr><th scope="col">rank</th><th scope="col">arm</th><th scope="col">average</th>
{%- for column in table.columns %}
<th scope="col">{{ column.name }}<br><small>{{ metrics(column) }}</small></th>
{%- endfor %}<th scope="col">seeds</th>
{%- for name in table.more_heads %}<th scope="col">{{ name }}</th>{% endfor %}</tr></thead>
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
<tbody>
{%- for row in table.rows %}{{ line(row, "measured") }}{% endfor %}
{%- for row in table.references %}{{ line(row, "reference") }}{% endfor %}
</tbody>
{%- for block in table.published %}
<tbody class="published"><tr><th colspan="{{ table.width }}" scope="rowgroup">
{{- dagger }} {{ block.source }}; {{ block.split }}</th></tr>
{%- for row in block.rows %}{{ line(row, "published", dagger) }}{% endfor %}
</tbody>
{%- endfor %}
</table></div>
<figcaption>
{%- for note in notes %}<p>{{ note }}</p>{% endfor -%}
</figcaption></figure>
"""


def render(table: Table, format: Format) -> str:
    """`table` as text.

    Raises:
        ValueError: no such format.
    """
    if format not in FORMATS:
        raise ValueError(f"unknown format {format!r}; known: {', '.join(FORMATS)}")
    return FORMATS[format](table)


def all_notes(table: Table) -> list[str]:
    """The lines under a table, those on its published rows included."""
    published = [
        f"{DAGGER} {block.kind}: {block.source}; {block.split}; {block.protocol}. {block.reason}"
        for block in table.published
    ]
    return table.notes() + [note.strip() for note in published]


def markdown(table: Table) -> str:
    """A table of GitHub's markdown; published rows of another split in a table of their own."""
    together = [row for block in table.published if block.comparable for row in block.rows]
    apart = [block for block in table.published if not block.comparable]
    lines = _markdown_rows(table, (*table.rows, *table.references), together)
    for block in apart:
        lines += ["", f"{block.kind}{DAGGER}: {block.source}; {block.split}. {block.reason}", ""]
        lines += _markdown_rows(table, (), block.rows)
    notes = [f"- {markdown_escape(note)}" for note in all_notes(table)]
    return "\n".join([*lines, "", *notes]) + "\n"


def _markdown_rows(table: Table, rows: Sequence[Row], published: Sequence[Row]) -> list[str]:
    labels = [column_label(column) for column in table.columns]
    lines = [_cells(table, row, row.name) for row in rows]
    lines += [_cells(table, row, f"{row.name} {DAGGER}") for row in published]
    bold = [(i, j) for i, row in enumerate(rows) for j in _bold(row)]
    head = ["rank", "arm", "average", *labels, "seeds", *table.more_heads]
    return markdown_table(head, lines, text_columns=(1,), bold=bold)


def markdown_table(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    text_columns: Sequence[int] = (0,),
    bold: Sequence[tuple[int, int]] = (),
) -> list[str]:
    """Lines of a table; all columns but `text_columns` stand to the right. `bold` are places of
    (row, column)."""
    align = [":--" if i in text_columns else "--:" for i in range(len(head))]
    cells = [[markdown_escape(cell) for cell in line] for line in (head, *rows)]
    for row, column in bold:
        cells[row + 1][column] = f"**{cells[row + 1][column]}**"
    cells.insert(1, align)
    return ["| " + " | ".join(line) + " |" for line in cells]


def markdown_escape(text: str) -> str:
    """Text that markdown shows as it stands, in one line."""
    for character in "\\|<*`[":  # "_" inside a word is plain text in GitHub's markdown
        text = text.replace(character, f"\\{character}")
    return " ".join(text.split())


def _cells(table: Table, row: Row, name: str) -> list[str]:
    scores = [_text(score) for score in (row.average, *row.scores)]
    return [str(row.rank or ""), name, *scores, row.seeds, *table.more_cells(row)]


def _bold(row: Row) -> list[int]:
    """Places of the best scores among `_cells`."""
    scores = (row.average, *row.scores)
    return [place for place, score in enumerate(scores, start=2) if score and score.best]


def _text(score: Score | None) -> str:
    if score is None:
        return MISSING
    return f"{score.mean:.1f}" + ("" if score.sd is None else f" ± {score.sd:.1f}")


def comma_separated(table: Table) -> str:
    """One line per row, measured or not, with everything that a reader of numbers needs."""
    names = [*(column_label(column) for column in table.columns), "average"]
    head = ["kind", "rank", "arm"]
    head += [part for name in names for part in (name, f"{name} sd")]
    head += ["pretrain_seeds", "finetune_seeds", *_underlined(table.more_heads)]
    head += ["split", "source", "suite", "average_rule"]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*head, "protocol"])
    kinds = [("measured", row) for row in table.rows]
    kinds += [("reference", row) for row in table.references]
    shared = [table.suite.name, table.average.name]
    for kind, row in kinds:
        values = _numbers(table, kind, row)
        writer.writerow([*values, table.split, "", *shared, table.protocol])
    for block in table.published:
        for row in block.rows:
            values = _numbers(table, block.kind.lower(), row)
            writer.writerow([*values, block.split, block.source, *shared, block.protocol])
    return text.getvalue()


def _numbers(table: Table, kind: str, row: Row) -> list[str]:
    scores = [
        "" if value is None else f"{value:.4f}"
        for score in (*row.scores, row.average)
        for value in ((score.mean, score.sd) if score else (None, None))
    ]
    seeds = [str(count or "") for count in (row.pretrain_seeds, row.finetune_seeds)]
    more = [cell.replace(",", "") for cell in table.more_cells(row)]
    return [kind, str(row.rank or ""), row.name, *scores, *seeds, *more]


def _underlined(names: Sequence[str]) -> list[str]:
    return [name.replace(" ", "_") for name in names]


def html(table: Table) -> str:
    """A `figure` to put into a page, without styles of its own."""
    import jinja2

    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    return environment.from_string(HTML).render(
        table=table, notes=all_notes(table), dagger=DAGGER, metrics=metrics_label
    )


def latex(table: Table) -> str:
    """A `tabular` with the rules of booktabs, and its notes."""
    labels = [tex(column_label(column)) for column in table.columns]
    lines = [
        f"\\begin{{tabular}}{{rl{'r' * (len(labels) + 1)}c{'r' * len(table.more_heads)}}}",
        "\\toprule",
        " & ".join(["rank", "arm", "average", *labels, "seeds", *table.more_heads]) + r" \\",
        "\\midrule",
    ]
    lines += [_tex_row(table, row, "") for row in (*table.rows, *table.references)]
    for block in table.published:
        title = tex(f"{block.source}; {block.split}")
        lines += [
            "\\midrule",
            f"\\multicolumn{{{table.width}}}{{l}}{{$^\\dagger$ {title}}} \\\\",
            *(_tex_row(table, row, "$^\\dagger$") for row in block.rows),
        ]
    lines += ["\\bottomrule", "\\end{tabular}", "\\par\\footnotesize"]
    lines += [f"{tex(note)}\\par" for note in all_notes(table)]
    return "\n".join(lines) + "\n"


def _tex_row(table: Table, row: Row, mark: str) -> str:
    cells = [tex(cell) for cell in _cells(table, row, row.name)]
    cells[1] += mark
    for place in _bold(row):
        cells[place] = f"\\textbf{{{cells[place]}}}"
    return " & ".join(cells) + r" \\"


def tex(text: str) -> str:
    """Text that LaTeX shows as it stands."""
    text = text.translate(LATEX_ESCAPES)
    symbols = {"±": r"$\pm$", DAGGER: r"$^\dagger$", MISSING: "--"}
    for symbol, command in symbols.items():
        text = text.replace(symbol, command)
    return text


FORMATS: dict[str, Callable[[Table], str]] = {
    "md": markdown,
    "csv": comma_separated,
    "html": html,
    "latex": latex,
}
