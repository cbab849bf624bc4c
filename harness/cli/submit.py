"""`harness submit`: test predictions for the server of a benchmark."""

from pathlib import Path
from typing import Annotated

import typer

from harness.cli import completion, options


def submit(
    benchmark: Annotated[str, typer.Argument(help="glue | superglue")],
    experiment: options.Experiment,
    arm: Annotated[
        str | None,
        typer.Option(help="arm [default: the only one]", autocompletion=completion.arms),
    ] = None,
    seeds: Annotated[
        str | None,
        typer.Option(metavar="P.F", help="pretraining and fine-tuning seed [default: the first]"),
    ] = None,
    out_file: Annotated[
        Path | None, typer.Option("--out", help="file [default: submissions/... in the store]")
    ] = None,
    set_: options.Overrides = None,
    variant: options.Variants = None,
    store: options.StoreFolder = options.DEFAULT_STORE,
) -> None:
    """Writes test predictions for the server of a benchmark. They are those of one run, in a zip
    file."""
    from harness.exchange.submissions.submission import write_submission

    with options.clear_errors():
        results = options.load_study(experiment, set_, variant, store).results
        options.out.print(f"{write_submission(benchmark, results, arm, seeds, out_file)}")
