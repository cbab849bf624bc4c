"""The commands; parses and prints, decides nothing."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli import data, disagreements, export, families, leaderboard, results, site
from harness.cli.options import (
    DEFAULT_STORE,
    FAILED,
    INTERRUPTED,
    Experiment,
    Overrides,
    StoreFolder,
    clear_errors,
    err,
    out,
)

if TYPE_CHECKING:
    import pandas as pd

    from harness.experiment.declaration import Declaration
    from harness.plan.plan import Plan
    from harness.study import Study

app = typer.Typer(
    help="Which way of pretraining a language model is better, by how much, and how sure are we?",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.add_typer(data.app, name="data")

Family = Annotated[
    str,
    typer.Argument(help=" | ".join(families.FAMILIES), autocompletion=lambda: families.FAMILIES),
]


def _members(context: typer.Context) -> list[str]:
    """For the shell to complete: those of the family that was given."""
    return list(families.FAMILIES.get(str(context.params.get("family")), ()))


def _plan(path: Path, overrides: list[str] | None) -> "tuple[Declaration, Plan]":
    from harness.plan.factory import load_plan

    with clear_errors():
        return load_plan(path, overrides or ())


@app.command()
def plan(
    experiment: Experiment,
    set_: Overrides = None,
    store: Annotated[
        Path | None,
        typer.Option(envvar="HARNESS_STORE", help="whose results say how far seeds spread"),
    ] = None,
) -> None:
    """Arms, what differs between them, stages, cost, what the seeds can tell apart; spends
    nothing."""
    from harness.cli.plan_summary import print_plan

    _, planned = _plan(experiment, set_)
    print_plan(planned, out, _earlier(store) if store and store.exists() else ())


def _earlier(folder: Path) -> "list[pd.DataFrame]":
    from harness.leaderboard.boards import recorded
    from harness.store.store import Store

    return [experiment.results for experiment in recorded(Store(folder))]


@app.command()
def run(
    experiment: Experiment,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="stages at a time [default: CPU cores; 1 with a GPU]")
    ] = None,
    set_: Overrides = None,
    store: StoreFolder = DEFAULT_STORE,
) -> None:
    """Computes what is missing, then writes the leaderboard and the report. Resumes by itself."""
    from harness.study import Study

    _compute(Study(*_plan(experiment, set_), store), jobs)


def _compute(study: "Study", jobs: int | None) -> None:
    """Runs a study and shows what came out; ends with the code that says how it went."""
    from harness.leaderboard.render import render

    try:
        done = study.run(jobs, out).last_run
    except KeyboardInterrupt:
        err.print("interrupted; the same command goes on from here", style="red")
        os._exit(INTERRUPTED)  # at once: the workers end when they see that this process is gone
    if not done.computed and not done.failed:
        out.print(f"{study.name}: all {len(study.plan.stages)} stages were done already")
    with clear_errors():
        out.print(render(study.table(), "md"), markup=False)
        folder = study.write_report()
    out.print(f"leaderboard: {folder / 'leaderboard.csv'}\nreport:      {folder / 'index.html'}")
    if done.failed:
        err.print(f"{len(done.failed)} stages failed; 'harness status' says why", style="red")
        raise typer.Exit(FAILED)


@app.command()
def evaluate(
    model: Annotated[str, typer.Argument(help="folder of a model, or its id on the Hub")],
    suite: Annotated[str, typer.Option(help="a name in 'harness list suites'")] = "micro-glue-v1",
    seeds: Annotated[int, typer.Option(min=1, help="fine-tunings of each task")] = 3,
    task: Annotated[list[str] | None, typer.Option(help="some tasks of the suite")] = None,
    adaptation: Annotated[str, typer.Option(help="a name in 'harness list adaptations'")] = "full",
    revision: Annotated[str | None, typer.Option(help="commit, branch or tag on the Hub")] = None,
    name: Annotated[str | None, typer.Option(help="what its row is called")] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="stages at a time")] = None,
    set_: Overrides = None,
    store: StoreFolder = DEFAULT_STORE,
) -> None:
    """Someone else's checkpoint on a suite, fine-tuned as our own are: a row on the leaderboard."""
    from harness.experiment.checkpoint_experiment import Wanted, load_evaluation
    from harness.study import Study

    wanted = Wanted(model, suite, seeds, tuple(task or ()), adaptation, revision, name)
    with clear_errors():
        study = Study(*load_evaluation(wanted, set_ or ()), store)
    _compute(study, jobs)


@app.command()
def status(
    experiment: Experiment, set_: Overrides = None, store: StoreFolder = DEFAULT_STORE
) -> None:
    """Every stage: done, running, failed (why), waiting."""
    from harness.study import Study

    declaration, planned = _plan(experiment, set_)
    Study(declaration, planned, store).print_status(out)


app.command()(leaderboard.leaderboard)


@app.command()
def report(
    experiment: Experiment,
    out_folder: Annotated[
        Path | None, typer.Option("--out", help="default: reports/<name> in the store")
    ] = None,
    set_: Overrides = None,
    store: StoreFolder = DEFAULT_STORE,
) -> None:
    """Writes the comparison report: one folder with a page, a markdown twin and the raw numbers."""
    from harness.core.files import output_folder
    from harness.study import Study

    declaration, planned = _plan(experiment, set_)
    with clear_errors():
        wanted = output_folder(out_folder) if out_folder else None
        folder = Study(declaration, planned, store).write_report(wanted)
    out.print(f"{folder / 'index.html'}")


@app.command()
def submit(
    benchmark: Annotated[str, typer.Argument(help="glue | superglue")],
    experiment: Experiment,
    arm: Annotated[str | None, typer.Option(help="default: the only one")] = None,
    seeds: Annotated[
        str | None, typer.Option(metavar="P.F", help="seeds of the run [default: the first ones]")
    ] = None,
    out_file: Annotated[
        Path | None, typer.Option("--out", help="default: submissions/... in the store")
    ] = None,
    set_: Overrides = None,
    store: StoreFolder = DEFAULT_STORE,
) -> None:
    """Writes the zip file that a benchmark's server takes, of one run's test predictions."""
    from harness.exchange.submissions.submission import write_submission
    from harness.study import Study

    declaration, planned = _plan(experiment, set_)
    with clear_errors():
        study = Study(declaration, planned, store)
        out.print(f"{write_submission(benchmark, study, arm, seeds, out_file)}")


@app.command(name="list")
def list_(
    family: Family,
) -> None:
    """The members of a family: recipes, tasks, suites, corpora, ..."""
    with clear_errors():
        for name, text in families.rows(family):
            out.print(f"{name:20} {text}", markup=False)


@app.command()
def show(
    family: Family,
    name: Annotated[str, typer.Argument(help="one of its members", autocompletion=_members)],
) -> None:
    """One member of a family with all its fields, as YAML."""
    with clear_errors():
        out.print(families.details(family, name), markup=False, end="")


@app.command()
def schema() -> None:
    """The JSON schema of experiment files, for editors."""
    import json

    from harness.experiment.json_schema import json_schema

    print(json.dumps(json_schema(), indent=2))


@app.command()
def ui(
    port: Annotated[int, typer.Option(help="port on loopback")] = 5000,
    store: StoreFolder = DEFAULT_STORE,
) -> None:
    """MLflow's pages over the store, on loopback only."""
    import subprocess

    uri = f"sqlite:///{store.absolute() / 'mlflow.db'}"
    command = [sys.executable, "-m", "mlflow", "ui", "--host", "127.0.0.1"]
    raise typer.Exit(subprocess.call([*command, "--port", str(port), "--backend-store-uri", uri]))


app.command()(disagreements.errors)
app.command()(export.export)
app.command()(site.site)
app.add_typer(results.app, name="results")


def main() -> None:
    """Entry point of the `harness` command."""
    app()
