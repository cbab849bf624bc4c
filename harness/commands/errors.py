"""`harness errors`: where two arms answer differently."""

from pathlib import Path
from typing import Annotated

import typer

from harness.commands.options import (
    DEFAULT_STORE,
    Experiment,
    Overrides,
    StoreFolder,
    clear_errors,
    out,
)


def errors(
    experiment: Experiment,
    task: Annotated[str, typer.Option(help="a task of the experiment", show_default=False)],
    arms: Annotated[
        tuple[str, str], typer.Option(metavar="A B", help="two arms", show_default=False)
    ],
    out_folder: Annotated[
        Path | None, typer.Option("--out", help="default: errors/<name>-<task> in the store")
    ] = None,
    set_: Overrides = None,
    store: StoreFolder = DEFAULT_STORE,
) -> None:
    """The examples on which two arms disagree, side by side: a page, a CSV and a parquet file."""
    from harness.contrast import contrast, write_contrast
    from harness.study import Study

    with clear_errors():
        study = Study.load(experiment, set_ or (), store)
        found = contrast(study, task, arms)
        page = write_contrast(found, out_folder or store / "errors" / f"{study.name}-{task}")
    out.print(f"{len(found.frame)} of {found.examples} examples differ: {page}", markup=False)
