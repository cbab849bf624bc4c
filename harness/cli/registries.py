"""`harness list` and `harness show`: everything that an experiment can name."""

import json
from enum import StrEnum
from typing import Annotated

import typer

from harness.cli import options
from harness.experiment import registries


def _members(context: typer.Context) -> list[str]:
    """The members of the registry typed so far, for shell completion."""
    registry = str(context.params.get("registry"))
    return list(registries.members(registry)) if registry in registries.REGISTRIES else []


Registry = Annotated[
    str,
    typer.Argument(
        help=" | ".join(registries.REGISTRIES), autocompletion=lambda: list(registries.REGISTRIES)
    ),
]


class Format(StrEnum):
    """The output format of a list."""

    table = "table"
    json = "json"


def list_members(
    registry: Registry,
    format: Annotated[Format, typer.Option(help="output format")] = Format.table,
) -> None:
    """Lists the members of a registry: recipes, tasks, suites, corpora, ..."""
    with options.clear_errors():
        rows = registries.rows(registry)
    if format is Format.json:
        print(json.dumps(rows, indent=2, ensure_ascii=False))
    else:
        options.print_table(
            list(rows[0]), [[_cell(value) for value in row.values()] for row in rows]
        )


def _cell(value: object) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    return "" if value is None else str(value)


def show(
    registry: Registry,
    name: Annotated[str, typer.Argument(help="member of the registry", autocompletion=_members)],
) -> None:
    """Shows a member of a registry with all fields, as YAML."""
    with options.clear_errors():
        options.out.print(registries.details(registry, name), markup=False, end="")
