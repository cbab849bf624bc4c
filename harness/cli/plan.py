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
) -> None:
    """Shows arms, differences, stages, cost, statistical power, warnings and the expected duration
    without computing anything."""
    from harness.cli.plan_output import print_plan, print_resolved
    from harness.execution.outlook import outlook
    from harness.experiment.declaration import variant_problems
    from harness.plan.factory import load_plan
    from harness.plan.plugin_checks import check_modules
    from harness.store.store import existing_store

    with options.clear_errors():
        planned = load_plan(experiment, set_ or (), variant or ())
        if resolved:
            print_resolved(planned.declaration, options.out)
            return
        check_modules(planned.stages.values())
        earlier = existing_store(store or options.DEFAULT_STORE)
        known = outlook(planned, earlier, jobs)
        invalid = variant_problems(planned.declaration)
        known = replace(known, warnings=(*known.warnings, *invalid))
        print_plan(known, options.out, _spread(planned, earlier))


def _spread(planned: "Plan", earlier: "Store | None") -> "SeedSpread | None":
    if earlier is None or not earlier.experiments():
        return None
    from harness.analysis.seed_spread import spread_in  # loads pandas

    return spread_in(earlier, planned.experiment.evaluate)
