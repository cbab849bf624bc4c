"""`harness status`: what is done, running and failed."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from harness.cli import options
from harness.core.counting import number_of

if TYPE_CHECKING:
    import pandas as pd

MAX_LINES = 10
"""Stages of one state that the summary names."""
NAMED = ("failed", "running", "interrupted")
"""States whose stages the summary names."""


def status(
    experiment: options.Experiment,
    all_: Annotated[bool, typer.Option("--all", help="list every stage")] = False,
    set_: options.Overrides = None,
    variant: options.Variants = None,
    store: options.StoreFolder = options.DEFAULT_STORE,
) -> None:
    """Shows how many stages are done, running, failed or waiting. Failures are shown with their
    reason."""
    from rich.filesize import decimal

    from harness.execution.status import disk_bytes

    with options.clear_errors():
        study = options.load_study(experiment, set_, variant, store)
        stages = study.status()
        done, work = disk_bytes(study.plan, study.store, study.results.finished)
    if all_:
        for stage in stages.itertuples():
            options.out.print(f"{stage.key}  {_line(stage)}")
    elif (stages["state"] == "waiting").all():
        left = number_of(len(stages), "stage")
        options.out.print(f"{study.results.unfinished}: {left} to compute")
        return
    else:
        _print_summary(stages)
    files = f"; files: {decimal(done)}" + (f", {decimal(work)} of unfinished stages" * bool(work))
    count = f"{(stages['state'] == 'done').sum()} of {len(stages)} stages done"
    options.out.print(f"{count}{files}")


def _print_summary(stages: "pd.DataFrame") -> None:
    """Numbers of stages by kind and state with the seconds spent, then the stages to look at."""
    from harness.execution.status import STATES
    from harness.execution.time_left import duration

    states = [state for state in STATES if (stages["state"] == state).any()]
    rows = []
    for kind, group in stages.groupby("kind", sort=False):
        counts = [(group["state"] == state).sum() for state in states]
        spent = duration(group["seconds"].sum()) if group["seconds"].notna().any() else ""
        rows.append([str(kind), *(str(count or "") for count in counts), spent])
    options.print_table(["stages", *states, "time"], rows, right=1)
    for state in NAMED:
        found = stages[stages["state"] == state]
        for stage in found.head(MAX_LINES).itertuples():
            options.out.print(_line(stage))
        if len(found) > MAX_LINES:
            options.out.print(f"... and {len(found) - MAX_LINES} more {state}; --all lists them")


def _line(stage: Any) -> str:
    return f"{stage.kind:20}  {stage.label}: {stage.state}" + (stage.detail and f": {stage.detail}")
