"""`harness plan`: what an experiment would compute."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli import options

if TYPE_CHECKING:
    from harness.analysis.power import SeedSpread
    from harness.plan.plan import Plan
    from harness.store.store import Store


def plan(
    experiment: options.Experiment,
    set_: options.Overrides = None,
    variant: options.Variants = None,
    resolved: Annotated[
        bool, typer.Option("--resolved", help="print every field of every arm with its origin")
    ] = False,
    jobs: options.Jobs = None,
    store: Annotated[
        Path | None,
        typer.Option(
            envvar="HARNESS_STORE",
            help="folder of earlier results, for durations, learned vocabularies and the variance "
            f"between seeds [default: {options.DEFAULT_STORE}]",
        ),
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            metavar="NxDEVICE",
            help="estimate hours on a cluster such as 8xH100, to an order of magnitude",
        ),
    ] = None,
    price: Annotated[
        float | None,
        typer.Option(min=0, help="price of a device of --cluster for an hour, for the cost"),
    ] = None,
) -> None:
    """Shows what an experiment would compute. Lists arms, differences, stages, cost, statistical
    power, warnings and the expected duration, and computes nothing."""
    from harness.cli.plan_output import print_plan, print_resolved
    from harness.execution.cluster_estimate import Cluster, cluster_estimate
    from harness.execution.devices import devices_problem
    from harness.execution.outlook import outlook
    from harness.experiment.declaration import variant_problems
    from harness.plan.factory import load_plan
    from harness.plan.plugin_checks import check_modules
    from harness.store.store import existing_store

    with options.clear_errors():
        options.require(
            cluster is not None or price is None, "--price needs a --cluster, such as 8xH100"
        )
        there = None if cluster is None else Cluster.parse(cluster)
        planned = load_plan(experiment, set_ or (), variant or ())
        if resolved:
            print_resolved(planned.declaration, options.out)
            return
        check_modules(planned.stages.values())
        earlier = existing_store(store or options.DEFAULT_STORE)
        known = outlook(planned, earlier, jobs)
        problems = [*_unseparated(planned, earlier), *variant_problems(planned.declaration)]
        if lacking := devices_problem(planned, known.todo):
            problems.append(f"a run on this machine would be refused: {lacking}")
        known = replace(known, warnings=(*known.warnings, *problems))
        compute = planned.experiment.compute
        elsewhere = cluster_estimate(known.todo, known.learned, there, compute) if there else None
        print_plan(known, options.out, _spread(planned, earlier))
        for line in elsewhere.lines(price) if elsewhere else ():
            options.out.print(line)


def _unseparated(planned: "Plan", earlier: "Store | None") -> list[str]:
    if earlier is None or not earlier.experiments():
        return []
    from harness.analysis.unseparated import unseparated  # loads pandas

    return unseparated(planned, earlier)


def _spread(planned: "Plan", earlier: "Store | None") -> "SeedSpread | None":
    if earlier is None or not earlier.experiments():
        return None
    from harness.analysis.seed_spread import spread_in  # loads pandas

    return spread_in(earlier, planned.experiment.evaluate)
