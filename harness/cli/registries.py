"""`harness list` and `harness show`: everything that an experiment can name."""

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


def list_members(registry: Registry) -> None:
    """Lists the members of a registry: recipes, tasks, suites, corpora, ..."""
    with options.clear_errors():
        for name, text in registries.rows(registry):
            options.out.print(f"{name:20} {text}", markup=False)


def show(
    registry: Registry,
    name: Annotated[str, typer.Argument(help="member of the registry", autocompletion=_members)],
) -> None:
    """Shows a member of a registry with all fields, as YAML."""
    with options.clear_errors():
        options.out.print(registries.details(registry, name), markup=False, end="")
