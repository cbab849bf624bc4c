"""`harness run`: runs an experiment."""

import os
from typing import TYPE_CHECKING

import typer

from harness.cli import options

if TYPE_CHECKING:
    from harness.report.summary import Summary
    from harness.study import Study


def run(
    experiment: options.Experiment,
    jobs: options.Jobs = None,
    executor: options.Executor = "processes",
    set_: options.Overrides = None,
    variant: options.Variants = None,
    store: options.StoreFolder = options.DEFAULT_STORE,
) -> None:
    """Computes missing stages, then writes leaderboard and report. Run again to resume."""
    with options.clear_errors():
        study = options.load_study(experiment, set_, variant, store)
    compute(study, jobs, executor)


def compute(study: "Study", jobs: int | None, executor: str) -> None:
    """Runs a study, prints its leaderboard and writes its report.

    Args:
        jobs: number of parallel stages; null: the default of the backend.
        executor: a name in `BACKENDS`.

    Raises:
        typer.Exit: with code 1 if stages failed.
    """
    from harness.cli.plan_output import print_warnings

    with options.clear_errors():
        print_warnings(study.warnings, options.out)
    try:
        with options.clear_errors():
            done = study.run(jobs, options.out, executor, raise_on_failure=False).last_run
    except KeyboardInterrupt:
        options.err.print("interrupted; run the same command again to resume", style="red")
        os._exit(options.INTERRUPTED)  # no cleanup: workers stop when this process is gone
    if not done.computed and not done.failed:
        options.out.print(f"{study.name}: all {len(study.plan.stages)} stages were done already")
    if not done.failed or study.results.scored:
        _show(study)
    if done.failed:
        options.err.print(f"{len(done.failed)} stages failed; see 'harness status'", style="red")
        raise typer.Exit(options.FAILED)


def _show(study: "Study") -> None:
    from harness.leaderboard.render import render

    with options.clear_errors():
        options.out.print(render(study.table(), "md"), markup=False)
        folder = study.write_report()
        _print_summary(study.summary())
    options.out.print(
        f"leaderboard: {folder / 'leaderboard.csv'}\nreport:      {folder / 'index.html'}"
    )


def _print_summary(found: "Summary") -> None:
    """Prints verdicts and threats, a line each."""
    for line in found.verdicts:
        options.out.print(f"expected {line}", markup=False)
    if found.threats:
        options.out.print("threats to validity:")
    for line in found.threats:
        options.out.print(f"- {line}", markup=False)
