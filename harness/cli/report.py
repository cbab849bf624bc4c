"""`harness report`: the comparison report."""

from pathlib import Path
from typing import Annotated

import typer

from harness.cli.options import (
    DEFAULT_STORE,
    Experiment,
    Overrides,
    StoreFolder,
    Variants,
    clear_errors,
    load_study,
    out,
)


def report(
    experiment: Experiment,
    out_folder: Annotated[
        Path | None, typer.Option("--out", help="folder [default: reports/<name> in the store]")
    ] = None,
    set_: Overrides = None,
    variant: Variants = None,
    store: StoreFolder = DEFAULT_STORE,
) -> None:
    """Writes the comparison report as a web page and as markdown, with the raw numbers."""
    from harness.core.files import output_folder

    with clear_errors():
        folder = output_folder(out_folder) if out_folder else None
        written = load_study(experiment, set_, variant, store).write_report(folder)
    out.print(f"{written / 'index.html'}")
