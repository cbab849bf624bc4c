"""`harness data`: data sets of the Hub."""

from pathlib import Path
from typing import Annotated

import typer

from harness.cli.options import BAD_INPUT, clear_errors, err, out

app = typer.Typer(help="Data sets of the Hub: list, fetch, verify.", no_args_is_help=True)
DataNames = Annotated[
    list[str] | None,
    typer.Argument(help="data sets (glue/cola, nyu-mll/glue), or tasks, probes, corpora"),
]
SuiteName = Annotated[str | None, typer.Option(help="those of a suite's tasks")]
FetchFolder = Annotated[
    Path | None, typer.Option("--to", envvar="HARNESS_DATA", help="default: data")
]


@app.command(name="list")
def list_() -> None:
    """Every data set of the Hub: where it is, size, commit, used by, licence."""
    from harness.tasks.datasets.catalog import rows

    for name, used_by, licence, where, size, commit in rows():
        line = f"{name:36} {where:9} {size:>10}  {commit:12}  {used_by} ({licence})"
        out.print(line, markup=False)


@app.command(name="fetch")
def fetch_command(names: DataNames = None, suite: SuiteName = None, to: FetchFolder = None) -> None:
    """Downloads pinned commits to a folder that HARNESS_DATA then names, with their checksums."""
    from harness.tasks.datasets import fetch
    from harness.tasks.datasets.catalog import to_fetch

    with clear_errors():
        sets = to_fetch(names or (), suite)
    folder = to or fetch.DEFAULT_FOLDER
    failed = False
    for name, problem in fetch.fetch(sets, folder):
        failed |= _reported(name, "fetched", problem)
    out.print(f"read from there with HARNESS_DATA={folder}", markup=False)
    if failed:
        raise typer.Exit(BAD_INPUT)


@app.command(name="verify")
def verify_command(names: DataNames = None, suite: SuiteName = None) -> None:
    """Checksums, readability, columns, labels and numbers of rows; all that is there by default."""
    from harness.tasks.datasets import verify
    from harness.tasks.datasets.catalog import to_verify

    with clear_errors():
        sets = to_verify(names or (), suite)
    problems = [_reported(*check) for check in verify.verify(sets)]
    out.print(f"{len(sets)} data sets, {sum(problems)} problems")
    if any(problems):
        raise typer.Exit(BAD_INPUT)


def _reported(name: str, found: str, problem: str) -> bool:
    """Prints a line on one data set; whether it was on a problem."""
    if problem:
        err.print(f"{name}: {problem}", style="red", markup=False)
    else:
        out.print(f"{name}: {found}", markup=False)
    return bool(problem)
