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


_argument = typer.Argument(
    help=" | ".join(registries.REGISTRIES), autocompletion=lambda: list(registries.REGISTRIES)
)
Registry = Annotated[str, _argument]
RegistryOrNone = Annotated[str | None, _argument]


class Format(StrEnum):
    """The output format of a list."""

    table = "table"
    json = "json"


def list_members(
    registry: RegistryOrNone = None,
    format: Annotated[Format, typer.Option(help="output format")] = Format.table,
) -> None:
    """Lists the registries, or the members of one."""
    with options.clear_errors():
        rows = registries.rows(registry) if registry else registries.overview()
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
    name: Annotated[
        str,
        typer.Argument(
            help="member of the registry; with --examples also a file", autocompletion=_members
        ),
    ],
    examples: Annotated[
        int | None,
        typer.Option(
            min=1, help="print this many examples of a task or objective, or documents of a corpus"
        ),
    ] = None,
) -> None:
    """Shows a member of a registry as YAML. With --examples, shows some of its text instead."""
    with options.clear_errors():
        text = _sample(registry, name, examples) if examples else registries.details(registry, name)
        options.out.print(text, end="")


def _sample(registry: str, name: str, number: int) -> str:
    import yaml

    from harness.experiment.samples import SAMPLES

    options.require(
        registry in SAMPLES, f"--examples is for {', '.join(SAMPLES)}, but not for {registry}"
    )
    found = SAMPLES[registry](name, number)
    return yaml.safe_dump(found, sort_keys=False, allow_unicode=True, width=options.WIDE)
