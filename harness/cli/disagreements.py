"""`harness disagreements`: the examples on which two arms differ."""

from pathlib import Path
from typing import Annotated

import typer

from harness.cli import options


def disagreements(
    experiment: options.Experiment,
    task: Annotated[str, typer.Option(help="task of the experiment", show_default=False)],
    arms: Annotated[
        tuple[str, str], typer.Option(metavar="A B", help="two arms", show_default=False)
    ],
    out_folder: Annotated[
        Path | None,
        typer.Option(
            "--out", help="folder [default: disagreements/<name>-<task>-<A>-<B> in the store]"
        ),
    ] = None,
    set_: options.Overrides = None,
    variant: options.Variants = None,
    store: options.StoreFolder = options.DEFAULT_STORE,
) -> None:
    """Writes the examples on which two arms disagree. They are in a web page, a CSV and a parquet
    file."""
    from harness.core.files import output_folder
    from harness.report.disagreements.answers import find_disagreements
    from harness.report.disagreements.page import folder_name, write_disagreements

    with options.clear_errors():
        folder = output_folder(out_folder) if out_folder else None
        results = options.load_study(experiment, set_, variant, store).results
        found = find_disagreements(results, task, arms)
        default = store / "disagreements" / folder_name(found)
        page = write_disagreements(found, folder or default)
    options.out.print(f"{len(found.frame)} of {found.examples} examples differ: {page}")
