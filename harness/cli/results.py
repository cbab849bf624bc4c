"""`harness results`: export and import of results."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli import options
from harness.core.counting import number_of

if TYPE_CHECKING:
    from harness.exchange.results.export_results import FinishedRuns

app = typer.Typer(
    help="Exchange results as parquet files: export, import, remove.", no_args_is_help=True
)
ResultsFile = Annotated[
    Path,
    typer.Argument(
        metavar="FILE.parquet",
        help="file of scores; that of examples is beside it, FILE.examples.parquet",
        show_default=False,
    ),
]


@app.command()
def export(
    file: ResultsFile,
    experiments: Annotated[
        list[Path] | None,
        typer.Argument(metavar="EXPERIMENT", help="experiment files, or names of shipped ones"),
    ] = None,
    all_: Annotated[
        bool, typer.Option("--all", help="all experiments in the store, as last run")
    ] = False,
    source: Annotated[str, typer.Option(help="who measured the results")] = "pretraining-harness",
    set_: options.Overrides = None,
    variant: options.Variants = None,
    store: options.StoreFolder = options.DEFAULT_STORE,
) -> None:
    """Writes scores of experiments, and their predictions. The predictions are in a second file."""
    from harness.exchange.results.export_results import export_results, runs_of_results
    from harness.exchange.results.schema import examples_path

    with options.clear_errors():
        if bool(experiments) == all_:
            raise ValueError("give experiment files or --all, and not both")
        options.require(not (all_ and (set_ or variant)), "--set and --variant are of files")
        if all_:
            found = _recorded(store)
        else:
            studies = [options.load_study(one, set_, variant, store) for one in experiments or ()]
            found = [runs_of_results(study.results) for study in studies]
        scores, examples = export_results(found, file, source, options.tracked)
    options.out.print(f"{file}: {number_of(scores, 'score')}")
    options.out.print(f"{examples_path(file)}: {number_of(examples, 'example')}")


def _recorded(folder: Path) -> "list[FinishedRuns]":
    """The finished runs of all experiments in the store."""
    from harness.exchange.results.export_results import runs_of_recorded
    from harness.store.recorded import recorded_experiments
    from harness.store.store import Store

    store = Store(folder)
    return [runs_of_recorded(experiment, store) for experiment in recorded_experiments(store)]


@app.command(name="import")
def import_(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE.parquet", help="files of scores", show_default=False),
    ],
    replace: Annotated[
        bool, typer.Option("--replace", help="in place of all earlier imports of the same sources")
    ] = False,
    store: options.StoreFolder = options.DEFAULT_STORE,
) -> None:
    """Imports results measured elsewhere into the store. Leaderboards and comparisons read them."""
    from harness.exchange.results.import_results import import_results
    from harness.exchange.results.schema import examples_path, own_suites
    from harness.store.store import Store

    beside = {examples_path(one) for one in files}  # `*.parquet` gives these, too
    imported: set[str] = set()
    for file in (one for one in files if one not in beside):
        with options.clear_errors():
            done = import_results(file, Store(store), replace, imported)
        imported.update(done.scores["source"])
        line = f"{number_of(len(done.scores), 'score')} imported"
        if done.known:
            line += f", {done.known} left out, as the store has them"
        options.out.print(f"{file}: {line}")
        for suite in own_suites(done.scores):
            note = "is no shipped suite: its scores are shown beside those of a suite so named"
            options.out.print(f"{file}: {suite} {note}")


@app.command()
def remove(
    source: Annotated[str, typer.Argument(help="of the results", show_default=False)],
    store: options.StoreFolder = options.DEFAULT_STORE,
) -> None:
    """Removes the imported results of a source from the store."""
    from harness.exchange.results.import_results import remove_imported
    from harness.store.store import Store

    with options.clear_errors():
        number = remove_imported(source, Store(store))
    options.out.print(f"{source}: {number_of(number, 'score')} removed")
