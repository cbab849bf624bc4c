"""`harness init`: an experiment file to start from."""

from pathlib import Path
from typing import Annotated

import typer

from harness.cli import options


def init(
    name: Annotated[
        Path, typer.Argument(metavar="NAME", help="name of the experiment, or its file")
    ] = Path("experiment"),
) -> None:
    """Writes a commented experiment file, NAME.yaml, to edit."""
    from harness.experiment.template import write_template

    with options.clear_errors():
        options.require(bool(name.name), f"give the name of an experiment; {name} has none")
        path = name if name.suffix else name.with_name(f"{name.name}.yaml")
        write_template(path)
    options.out.print(f"{path}: edit it, then run 'harness plan {path}'")
