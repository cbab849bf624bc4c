"""`harness run`: runs an experiment."""

import os
from typing import TYPE_CHECKING

import typer

from harness.cli.options import (
    DEFAULT_STORE,
    FAILED,
    INTERRUPTED,
    Executor,
    Experiment,
    Jobs,
    Overrides,
    StoreFolder,
    Variants,
    clear_errors,
    err,
    load_study,
    out,
)

if TYPE_CHECKING:
    from harness.study import Study


def run(
    experiment: Experiment,
    jobs: Jobs = None,
    executor: Executor = "processes",
    set_: Overrides = None,
    variant: Variants = None,
    store: StoreFolder = DEFAULT_STORE,
) -> None:
    """Computes missing stages, then writes leaderboard and report. Run again to resume."""
    with clear_errors():
        study = load_study(experiment, set_, variant, store)
    compute(study, jobs, executor)


def compute(study: "Study", jobs: int | None, executor: str) -> None:
    """Runs a study, prints its leaderboard and writes its report.

    Args:
        jobs: number of parallel stages; null: the default of the backend.
        executor: a name in `BACKENDS`.

    Raises:
        typer.Exit: with code 1 if stages failed.
    """
    from harness.leaderboard.render import render

    try:
        with clear_errors():
            done = study.run(jobs, out, executor).last_run
    except KeyboardInterrupt:
        err.print("interrupted; run the same command again to resume", style="red")
        os._exit(INTERRUPTED)  # no cleanup: workers stop when this process is gone
    if not done.computed and not done.failed:
        out.print(f"{study.name}: all {len(study.plan.stages)} stages were done already")
    with clear_errors():
        out.print(render(study.table(), "md"), markup=False)
        folder = study.write_report()
    out.print(f"leaderboard: {folder / 'leaderboard.csv'}\nreport:      {folder / 'index.html'}")
    if done.failed:
        err.print(f"{len(done.failed)} stages failed; see 'harness status'", style="red")
        raise typer.Exit(FAILED)
