"""`harness list` and `harness show`: recipes, tasks, suites and what else an experiment can
name."""

from typing import Annotated

import typer

from harness.cli.options import clear_errors, out
from harness.experiment import families


def _members(context: typer.Context) -> list[str]:
    """For shell completion: the members of the family that was typed."""
    family = str(context.params.get("family"))
    return list(families.members(family)) if family in families.FAMILIES else []


Family = Annotated[
    str,
    typer.Argument(
        help=" | ".join(families.FAMILIES), autocompletion=lambda: list(families.FAMILIES)
    ),
]


def list_families(family: Family) -> None:
    """The members of a family: recipes, tasks, suites, corpora, ..."""
    with clear_errors():
        for name, text in families.rows(family):
            out.print(f"{name:20} {text}", markup=False)


def show(
    family: Family,
    name: Annotated[str, typer.Argument(help="one of its members", autocompletion=_members)],
) -> None:
    """One member of a family with all its fields, as YAML."""
    with clear_errors():
        out.print(families.details(family, name), markup=False, end="")
