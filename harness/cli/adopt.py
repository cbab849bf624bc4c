"""`harness adopt`: takes over finished stages whose keys a change has made obsolete."""

from typing import Annotated

import typer

from harness.cli import options
from harness.core.counting import number_of


def adopt(
    experiment: options.Experiment,
    reason: Annotated[
        str | None,
        typer.Option(help="why the change does not matter; recorded, and shown in the report"),
    ] = None,
    set_: options.Overrides = None,
    variant: options.Variants = None,
    store: options.StoreFolder = options.DEFAULT_STORE,
) -> None:
    """Lists finished stages that a change computes again. With --reason, takes over their results
    instead."""
    from harness.execution.rekeyed import adopt, rekeyed, rekeyed_lines
    from harness.execution.time_left import duration

    with options.clear_errors():
        has_reason = reason is None or bool(reason.strip())
        options.require(has_reason, "--reason must say why the change does not matter")
        options.opened_store(store)
        study = options.load_study(experiment, set_, variant, store)
        found = rekeyed(study.plan, study.store, study.store.finished())
        if not found:
            none = f"{study.name}: no unfinished stage was finished before a change"
            options.out.print(none)
            return
        for line in rekeyed_lines(found):
            options.out.print(f"- {line}")
        spent = duration(sum(one.seconds for one in found))
        if reason is None:
            count = f"{number_of(len(found), 'stage')}, which took {spent}"
            options.out.print(f"{count}; take them over by --reason 'why this does not matter'")
            return
        adopt(found, study.store, reason)
        options.out.print(f"{number_of(len(found), 'stage')} adopted, which took {spent}")
