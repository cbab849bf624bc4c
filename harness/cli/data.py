"""`harness data`: data sets from the Hub."""

from pathlib import Path
from typing import Annotated

import typer

from harness.cli import options

app = typer.Typer(help="Data sets from the Hub: list, fetch, verify.", no_args_is_help=True)
DataNames = Annotated[
    list[str] | None,
    typer.Argument(help="data sets (glue/cola, nyu-mll/glue), or tasks, probes, corpora"),
]
SuiteName = Annotated[str | None, typer.Option(help="data sets of the tasks of a suite")]
FetchFolder = Annotated[
    Path | None, typer.Option("--to", envvar="HARNESS_DATA", help="folder [default: data]")
]


@app.command(name="list")
def list_() -> None:
    """Lists data sets: location, size, commit, tasks that use them, licence."""
    from harness.tasks.datasets.catalog import rows

    for name, used_by, licence, where, size, commit in rows():
        line = f"{name:36} {where:9} {size:>10}  {commit:12}  {used_by} ({licence})"
        options.out.print(line, markup=False)


@app.command(name="fetch")
def fetch_command(names: DataNames = None, suite: SuiteName = None, to: FetchFolder = None) -> None:
    """Downloads data sets at pinned commits, with checksums, to a folder for HARNESS_DATA."""
    from harness.tasks.datasets import fetch
    from harness.tasks.datasets.catalog import to_fetch

    with options.clear_errors():
        sets = to_fetch(names or (), suite)
    folder = to or fetch.DEFAULT_FOLDER
    checks = ((name, "fetched", problem) for name, problem in fetch.fetch(sets, folder))
    problems = sum(_reported(*check) for check in checks)
    options.out.print(f"to use this folder, set HARNESS_DATA={folder}", markup=False)
    _exit_on(problems)


@app.command(name="verify")
def verify_command(names: DataNames = None, suite: SuiteName = None) -> None:
    """Verifies checksums, columns, labels and numbers of rows. Default: all local data sets."""
    from harness.tasks.datasets import verify
    from harness.tasks.datasets.catalog import to_verify

    with options.clear_errors():
        sets = to_verify(names or (), suite)
    problems = sum(_reported(*check) for check in verify.verify(sets))
    options.out.print(f"{len(sets)} data sets, {problems} problems")
    _exit_on(problems)


def _reported(name: str, found: str, problem: str) -> bool:
    """Prints the status of a data set; returns whether there is a problem."""
    if problem:
        options.err.print(f"{name}: {problem}", style="red", markup=False)
    else:
        options.out.print(f"{name}: {found}", markup=False)
    return bool(problem)


def _exit_on(problems: int) -> None:
    if problems:
        raise typer.Exit(options.BAD_INPUT)
