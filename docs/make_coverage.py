"""Writes coverage.md from coverage.csv: python docs/make_coverage.py

Ends with exit code 1 and a line for each problem, without writing the page, if the data name a
member, a field or a file that does not exist.
"""

import csv
import sys
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from os.path import relpath
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from harness.analysis.averages import AVERAGES
from harness.experiment.json_schema import json_schema
from harness.experiment.outcomes import QUANTITIES
from harness.experiment.registries import members
from harness.leaderboard.published import printed, published_index
from harness.tasks.metrics import METRICS

DOCS = Path(__file__).parent
ROOT = DOCS.parent
DATA, PAGE = DOCS / "coverage.csv", DOCS / "coverage.md"
STATUSES = {
    "there": "can be declared, and is tested",
    "partly": "the reason says what is missing",
    "published": "rows of published tables only",
    "missing": "absent",
    "out of scope": "closed models, and vision",
}
HEAD = """# Coverage

What the literature and courses on pretraining name, and how it is written in an experiment. Made
from `docs/coverage.csv` by `docs/make_coverage.py`, which fails where a member, a field, a test or
a report does not exist. Do not edit this page.

The claims of the literature are in [findings](findings.md). *There* means that the small networks
of the tests have it, not that it was run at its published size; a reason beside it says how it
departs from the publication. Reports are linked where there are any, else an experiment; most are
on the micro-world, with its counterparts of the tasks.
"""
COLUMNS = ("", "what", "status", "in YAML", "tests", "report", "reason")
PUBLISHED = "published"
SHOWN = {
    "recipe": "pretrain.recipe: {}",
    "objective": "pretrain.objective: {}",
    "corpus": "pretrain.corpus: {}",
    "tokenizer": "pretrain.tokenizer: {}",
    "model": "pretrain.model: {}",
    "size": "pretrain.size: {}",
    "adaptation": "evaluate.adaptation: {}",
    "diagnostic": "evaluate.diagnostics: [{}]",
    "task": "evaluate.tasks: [{}]",
    "suite": "evaluate.suite: {}",
    "probe": "evaluate.probes: [{}]",
    "space": "sweep.space: {}",
    "metric": "metrics: [{}]",
    "average": "average: {}",
    "outcome": "expect: {{{}: ...}}",
}
"""Kind of member to the YAML that names it. Other members are dotted fields, with or without a
value, and `published TABLE: ROW`."""
PLURALS = {"corpus": "corpora"}
OTHER_KINDS: Mapping[str, Collection[str]] = {
    "metric": METRICS,
    "average": AVERAGES,
    "outcome": QUANTITIES,
}
"""Kinds that are in no registry of `harness list`."""
TYPES: Mapping[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
}

Schema = Mapping[str, Any]


class Row(NamedTuple):
    """A row of the data; several members, tests or reports are separated by `; `."""

    id: str
    section: str
    name: str
    status: str
    members: str
    tests: str
    reports: str
    reason: str


def read(path: Path = DATA) -> list[Row]:
    """The rows of the data."""
    with path.open(newline="", encoding="utf-8") as file:
        return [Row(**row) for row in csv.DictReader(file)]


def parts(cell: str) -> list[str]:
    """The entries of a cell."""
    return [part for part in cell.split("; ") if part]


def problems(rows: list[Row]) -> list[str]:
    """A line for everything that is wrong."""
    twice = [name for name, count in Counter(row.id for row in rows).items() if count > 1]
    lines = [f"{row.id}: {problem}" for row in rows for problem in problems_of(row)]
    return [*(f"{name}: is given twice" for name in twice), *lines]


def problems_of(row: Row) -> Iterator[str]:
    """What is wrong in a row."""
    if row.status not in STATUSES:
        yield f"the status must be {', '.join(STATUSES)}, but is {row.status!r}"
    if row.status == "there" and not (row.members and row.tests):
        yield "what is there must have a member and a test"
    if row.status != "there" and not row.reason:
        yield f"what is {row.status} must have a reason"
    if row.status == PUBLISHED and not row.members.startswith(f"{PUBLISHED} "):
        yield "what is published must name its table first"
    yield from (problem for member in parts(row.members) for problem in wrong_member(member))
    for path in (*parts(row.tests), *parts(row.reports)):
        if not (ROOT / path).exists():
            yield f"there is no {path}"


def wrong_member(member: str) -> Iterator[str]:
    """Why a member does not exist; nothing if it does."""
    kind, _, name = member.partition(" ")
    if kind == PUBLISHED:
        table, _, row = name.partition(": ")
        if table not in published_index().index:
            yield f"there is no published table {table!r}"
        elif row and row not in set(printed(table).iloc[:, 0]):
            yield f"the published table {table} has no row {row!r}"
    elif kind in SHOWN:
        if name not in names(kind):
            yield f"there is no {kind} {name!r}"
    elif not has_field(member):
        yield f"experiments have no field {member!r}"


def names(kind: str) -> Collection[str]:
    """The names of all members of a kind."""
    return OTHER_KINDS[kind] if kind in OTHER_KINDS else members(PLURALS.get(kind, f"{kind}s"))


def has_field(text: str) -> bool:
    """Whether experiments have a dotted field, and allow its value if one is given."""
    schema = experiment_schema()
    path, _, value = text.partition(": ")
    found: list[Schema] = [schema]
    for name in path.split("."):
        inner = [one for part in found for one in options(part, schema, of_lists=True)]
        found = [one["properties"][name] for one in inner if name in one.get("properties", {})]
    allowed = (one for part in found for one in options(part, schema))
    return any(accepts(one, yaml.safe_load(value)) for one in allowed) if value else bool(found)


@cache
def experiment_schema() -> Schema:
    """The JSON schema of experiments."""
    return json_schema()


def options(part: Schema, schema: Schema, of_lists: bool = False) -> Iterator[Schema]:
    """The schemas that a value may match, or with `of_lists` also the entries of a list."""
    yield part
    if "$ref" in part:
        yield from options(schema["$defs"][part["$ref"].rpartition("/")[2]], schema, of_lists)
    inner = [*part.get("anyOf", ()), *part.get("oneOf", ())]
    if of_lists and isinstance(part.get("items"), Mapping):
        inner.append(part["items"])
    for one in inner:
        yield from options(one, schema, of_lists)


def accepts(option: Schema, value: Any) -> bool:
    """Whether a plain value matches a schema without alternatives."""
    if "const" in option or "enum" in option:
        return value in option.get("enum", [option.get("const")])
    kind = str(option.get("type"))
    if isinstance(value, bool):
        return kind == "boolean"
    return kind in TYPES and isinstance(value, TYPES[kind])


def page(rows: list[Row]) -> str:
    """The page."""
    sections = list(dict.fromkeys(row.section for row in rows))
    grouped = {name: [row for row in rows if row.section == name] for name in sections}
    tables = (section_table(name, found) for name, found in grouped.items())
    return "\n".join([HEAD, counts(rows, sections), *tables])


def counts(rows: list[Row], sections: list[str]) -> str:
    """What the statuses mean, and the number of rows by section and status."""
    found = Counter((row.section, row.status) for row in rows)
    total = Counter(row.status for row in rows)
    lines = [f"- **{name}**: {meaning}" for name, meaning in STATUSES.items()]
    lines += ["", line(["section", *STATUSES]), f"|---|{'--:|' * len(STATUSES)}"]
    for name in sections:
        link = f"[{name}](#{anchor(name)})"
        lines.append(line([link, *(str(found[name, status] or "") for status in STATUSES)]))
    return "\n".join([*lines, line(["all", *(str(total[one]) for one in STATUSES)]), ""])


def section_table(name: str, rows: list[Row]) -> str:
    """The rows of a section."""
    head = [f"## {name}", "", line(COLUMNS), "|" + "---|" * len(COLUMNS)]
    return "\n".join([*head, *(line(cells(row)) for row in rows), ""])


def cells(row: Row) -> list[str]:
    """The cells of a row as Markdown."""
    shown = ", ".join(map(in_yaml, parts(row.members)))
    tests, reports = (", ".join(map(link, parts(cell))) for cell in (row.tests, row.reports))
    return [row.id, row.name, row.status, shown, tests, reports, row.reason]


def in_yaml(member: str) -> str:
    """A member as it is written in an experiment, or its row in a published table."""
    kind, _, name = member.partition(" ")
    if kind == PUBLISHED:
        table, _, row = name.partition(": ")
        return f"{link(f'leaderboards/published/{table}.csv')}{row and f': {row}'}"
    return f"`{SHOWN[kind].format(name) if kind in SHOWN else member}`"


def link(path: str) -> str:
    """A link from the page to a file; of a report, to its README."""
    target = path + "/README.md" if (ROOT / path / "README.md").is_file() else path
    return f"[{Path(path).stem}]({relpath(ROOT / target, DOCS)})"


def anchor(title: str) -> str:
    """The anchor of a title."""
    return title.lower().replace(",", "").replace(" ", "-")


def line(row: Collection[str]) -> str:
    """A line of a table."""
    return f"| {' | '.join(row)} |"


if __name__ == "__main__":
    if wrong := problems(read()):
        sys.exit("\n".join(wrong))
    PAGE.write_text(page(read()), encoding="utf-8")
