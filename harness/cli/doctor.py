"""`harness doctor`: what may keep a run from ending well."""

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli import options

if TYPE_CHECKING:
    from collections.abc import Mapping

    from harness.execution.health.finding import Finding

STYLES = {"ok": "green", "warning": "yellow", "problem": "red"}


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
    store: options.StoreFolder = options.DEFAULT_STORE,
) -> None:
    """Checks software, machine, store, server and data. Exits with 1 if there is a problem."""
    from harness.execution.health import examine

    found = examine(store)
    if as_json:
        typer.echo(json.dumps({name: asdict(one) for name, one in found.items()}, indent=2))
    else:
        _print(found)
    if any(one.state == "problem" for one in found.values()):
        raise typer.Exit(options.FAILED)


def _print(found: "Mapping[str, Finding]") -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table("check", "state", "found", "what to do", box=box.SIMPLE_HEAD, pad_edge=False)
    for name, one in found.items():
        state = Text(one.state, STYLES[one.state])
        table.add_row(Text(name), state, Text(one.found), Text(one.advice))
    options.out.print(table, soft_wrap=False)
