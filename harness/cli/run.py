"""`harness run`: runs an experiment."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from harness.cli import options
from harness.core.signals import exit_code

if TYPE_CHECKING:
    from harness.leaderboard.table import Table
    from harness.study import Study

MAX_THREATS = 5
"""Threats that are printed at the end of a run; the report has all."""


def run(
    experiment: options.Experiment,
    jobs: options.Jobs = None,
    executor: options.Executor = "processes",
    address: options.Address = None,
    set_: options.Overrides = None,
    variant: options.Variants = None,
    store: options.StoreFolder = options.DEFAULT_STORE,
) -> None:
    """Computes missing stages, writes leaderboard and report. Run again to resume."""
    with options.clear_errors():
        study = options.load_study(experiment, set_, variant, store)
    compute(study, jobs, executor, address)


def compute(study: "Study", jobs: int | None, executor: str, address: str | None = None) -> None:
    """Runs a study, prints its leaderboard and writes its report.

    Args:
        jobs: number of parallel stages; null: the default of the backend.
        executor: a name in `BACKENDS`.
        address: of a Ray cluster.

    Raises:
        typer.Exit: with code 1 if stages failed, 130 after Ctrl-C, 143 after SIGTERM and
            129 after SIGHUP.
    """
    from harness.cli.plan_output import print_warnings

    with options.clear_errors():
        print_warnings(study.warnings, options.out)
    try:
        with options.clear_errors():
            run = study.run(jobs, options.out, executor, raise_on_failure=False, address=address)
            done = run.last_run
    except KeyboardInterrupt as stop:
        kept = f"interrupted: {_num_done(study)} stages are done and kept; "
        options.err.print(f"{kept}run the same command again to resume", style="red")
        raise typer.Exit(exit_code(stop)) from None
    if not done.computed and not done.failed:
        options.out.print(f"{study.name}: all {len(study.plan.stages)} stages were done already")
    if not done.failed or study.results.scored:
        _show(study)
    if done.failed:
        options.err.print(f"failed stages: {len(done.failed)}; see 'harness status'", style="red")
        raise typer.Exit(options.FAILED)


def _num_done(study: "Study") -> str:
    """How many stages of a study the store has; without waiting for a server that is away."""
    from harness.store.outages import without_waiting

    total = len(study.plan.stages)
    try:
        with without_waiting():
            return f"{len(study.results.finished)} of {total}"
    except OSError:
        return f"those that had finished of {total}"


def _show(study: "Study") -> None:
    """Prints the answer: verdicts, leaderboard, threats and the place of the report."""
    with options.clear_errors():
        table = study.table()
        folder = study.write_report()
        found = study.summary()
    for line in found.verdicts:
        options.out.print(f"expected {line}")
    _print_table(table)
    shown, more = found.threats[:MAX_THREATS], len(found.threats) - MAX_THREATS
    rest = [f"... and {more} more in the report"] if more > 0 else []
    _print_list("threats to validity:", [*shown, *rest])
    options.out.print(f"report, with notes on the table: {folder / 'index.html'}")


def _print_table(table: "Table") -> None:
    """Prints the rows of a leaderboard, which a narrow terminal wraps; the best scores are bold."""
    from rich import box
    from rich.table import Table as Grid
    from rich.text import Text

    from harness.leaderboard.cells import bold_places, heads, row_cells, shown_rows

    grid = Grid(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for place, head in enumerate(heads(table)):
        grid.add_column(Text(head), justify="left" if place == 1 else "right", no_wrap=True)
    for row, mark in shown_rows(table):
        best = bold_places(table, row)
        cells = enumerate(row_cells(table, row, mark))
        grid.add_row(*(Text(cell, "bold" if place in best else "") for place, cell in cells))
    options.out.print(grid, width=options.WIDE)


def _print_list(title: str, lines: Sequence[str]) -> None:
    if lines:
        options.out.print(title)
    for line in lines:
        options.out.print(f"- {line}")
