"""`harness work`: computes stages of an experiment together with other processes."""

from typing import Annotated

import typer

from harness.cli import options
from harness.core.counting import number_of
from harness.core.signals import exit_code


def work(
    experiment: options.Experiment,
    jobs: Annotated[int, typer.Option(min=1, help="number of parallel stages")] = 1,
    executor: options.Executor = "processes",
    address: options.Address = None,
    set_: options.Overrides = None,
    variant: options.Variants = None,
    store: options.StoreFolder = options.DEFAULT_STORE,
) -> None:
    """Computes stages beside other processes until none is left. Start as many as you like, on all
    machines that share the store.

    Leaderboard and report are written by `harness run`, which finds the stages done.
    """
    from harness.execution.run_plan import run_plan

    with options.clear_errors():
        study = options.load_study(experiment, set_, variant, store)
        try:
            done = run_plan(study.plan, study.store, jobs, options.out, executor, address)
        except KeyboardInterrupt as stop:
            options.err.print("stopped; another worker goes on with its stages", style="red")
            raise typer.Exit(exit_code(stop)) from None
    count = f"{number_of(len(done.computed), 'stage')} computed here"
    if done.dropped:
        count += f", {len(done.dropped)} dropped, since another worker had taken them over"
    options.out.print(
        f"{study.name}: {count}; {len(done.finished)} of {len(study.plan.stages)} done"
    )
    if done.failed:
        options.err.print(f"failed stages: {len(done.failed)}; see 'harness status'", style="red")
        raise typer.Exit(options.FAILED)
