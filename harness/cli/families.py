"""`harness list` and `harness show`: everything that an experiment can name."""

from typing import Annotated

import typer

from harness.cli import options
from harness.experiment import families


def _members(context: typer.Context) -> list[str]:
    """The members of the family typed so far, for shell completion."""
    family = str(context.params.get("family"))
    return list(families.members(family)) if family in families.FAMILIES else []


Family = Annotated[
    str,
    typer.Argument(
        help=" | ".join(families.FAMILIES), autocompletion=lambda: list(families.FAMILIES)
    ),
]


def list_families(family: Family) -> None:
    """Lists the members of a family: recipes, tasks, suites, corpora, ..."""
    with options.clear_errors():
        for name, text in families.rows(family):
            options.out.print(f"{name:20} {text}", markup=False)


def show(
    family: Family,
    name: Annotated[str, typer.Argument(help="member of the family", autocompletion=_members)],
) -> None:
    """Shows a member of a family with all fields, as YAML."""
    with options.clear_errors():
        options.out.print(families.details(family, name), markup=False, end="")
