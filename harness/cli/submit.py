"""`harness submit`: test predictions for the server of a benchmark."""

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


def submit(
    benchmark: Annotated[str, typer.Argument(help="glue | superglue")],
    experiment: Experiment,
    arm: Annotated[str | None, typer.Option(help="arm [default: the only one]")] = None,
    seeds: Annotated[
        str | None,
        typer.Option(metavar="P.F", help="pretraining and fine-tuning seed [default: the first]"),
    ] = None,
    out_file: Annotated[
        Path | None, typer.Option("--out", help="file [default: submissions/... in the store]")
    ] = None,
    set_: Overrides = None,
    variant: Variants = None,
    store: StoreFolder = DEFAULT_STORE,
) -> None:
    """Writes the test predictions of one run as a zip file for the server of a benchmark."""
    from harness.exchange.submissions.submission import write_submission

    with clear_errors():
        results = load_study(experiment, set_, variant, store).results
        out.print(f"{write_submission(benchmark, results, arm, seeds, out_file)}")
