"""`harness plan`: what an experiment will compute."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli.options import Experiment, Overrides, clear_errors, out

if TYPE_CHECKING:
    import pandas as pd


def plan(
    experiment: Experiment,
    set_: Overrides = None,
    store: Annotated[
        Path | None,
        typer.Option(envvar="HARNESS_STORE", help="earlier results, for the spread over seeds"),
    ] = None,
) -> None:
    """Arms, differences, stages, cost and statistical power; computes nothing."""
    from harness.cli.plan_summary import print_plan
    from harness.plan.factory import load_plan

    with clear_errors():
        planned = load_plan(experiment, set_ or ())
    print_plan(planned, out, _earlier(store) if store and store.exists() else ())


def _earlier(folder: Path) -> "list[pd.DataFrame]":
    from harness.store.recorded import recorded_experiments
    from harness.store.store import Store

    return [experiment.scores for experiment in recorded_experiments(Store(folder))]
