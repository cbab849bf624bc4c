"""`harness results`: results leave the store, and those of others come in."""

from pathlib import Path
from typing import Annotated

import typer

from harness.commands.options import DEFAULT_STORE, StoreFolder, clear_errors, out

app = typer.Typer(
    help="Results as parquet files: to others, and from others.", no_args_is_help=True
)
ResultsFile = Annotated[Path, typer.Argument(metavar="FILE.parquet", show_default=False)]


@app.command()
def export(
    file: ResultsFile,
    experiments: Annotated[
        list[Path], typer.Argument(metavar="EXPERIMENT.yaml...", show_default=False)
    ],
    source: Annotated[str, typer.Option(help="who measured")] = "pretraining-harness",
    store: StoreFolder = DEFAULT_STORE,
) -> None:
    """Writes every score of experiments, and their examples beside, as docs/results.md says."""
    from harness import interchange
    from harness.study import Study

    with clear_errors():
        studies = [Study.load(path, (), store) for path in experiments]
        scores, examples = interchange.write(studies, file, source)
    beside = interchange.examples_path(file)
    out.print(f"{file}: {scores} scores\n{beside}: {examples} examples", markup=False)


@app.command(name="import")
def import_(file: ResultsFile, store: StoreFolder = DEFAULT_STORE) -> None:
    """Takes results of others into the store; leaderboards show them apart, with their source."""
    from harness import interchange
    from harness.tracking import Store

    with clear_errors():
        scores = interchange.read(file, Store(store))
    out.print(f"{file}: {scores} scores imported", markup=False)
