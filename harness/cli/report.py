"""`harness report`: the comparison report of an experiment."""

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
    out,
)


def report(
    experiment: Experiment,
    out_folder: Annotated[
        Path | None, typer.Option("--out", help="default: reports/<name> in the store")
    ] = None,
    set_: Overrides = None,
    variant: Variants = None,
    store: StoreFolder = DEFAULT_STORE,
) -> None:
    """Writes the comparison report: a page, its markdown twin, and the raw numbers."""
    from harness.core.files import output_folder
    from harness.study import Study

    with clear_errors():
        folder = output_folder(out_folder) if out_folder else None
        written = Study.load(experiment, set_ or (), store, variant or ()).write_report(folder)
    out.print(f"{written / 'index.html'}")
